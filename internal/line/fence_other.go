//go:build !arm64

package line

// LoadFence keeps loads before it from being done behind loads after it: for who
// reads data first and then whether it still was what it was. Processors with
// amd64's order do that by themselves.
func LoadFence() {}
