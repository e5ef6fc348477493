//go:build !race

package lla2a

const fixedRows = false // see common_race.go
