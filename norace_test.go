//go:build !race

package symwin_test

const underRace = false
