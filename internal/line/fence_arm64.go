package line

// LoadFence keeps loads before it from being done behind loads after it: for who
// reads data first and then whether it still was what it was. An acquire orders only
// what follows it.
//
//go:noescape
func LoadFence()
