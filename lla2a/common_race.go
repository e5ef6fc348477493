//go:build race

package lla2a

// fixedRows: where rows lie does not depend on their size. Members that make
// different calls store rows of different sizes, and packed ones over each other;
// the heads tell, and nobody reads them, but the race detector takes it for a race.
const fixedRows = true
