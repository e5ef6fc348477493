//go:build race

package symwin_test

// underRace: it makes everything ten times as slow.
const underRace = true
