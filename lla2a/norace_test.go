//go:build !race

package lla2a_test

const underRace = false
