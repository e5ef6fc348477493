//go:build !amd64 || noasm || race

package reduce

// onEachProcessor calls f as on each kind of processor: without leaves there is one.
func onEachProcessor(f func(name string)) { f("no leaves") }

// turns are the lengths at which fold of n parts goes on to another block.
func turns(int) int { return blockBytes }
