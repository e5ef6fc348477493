//go:build !linux

package ce

import "errors"

const reachable = false

func readProcess(int, []byte, uint64) (int, error) { return 0, errors.ErrUnsupported }

func noMemory(error) bool { return false }

func noProcess(error) bool { return false }
