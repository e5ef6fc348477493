//go:build !linux

package doctor

import "errors"

// ChildCommand is the word for which a program calls Child; on Linux only.
const ChildCommand = "doctor-child"

// Gather is there on Linux only.
func Gather() (Facts, error) { return Facts{}, errors.ErrUnsupported }

// Child is there on Linux only.
func Child([]string) int { return 1 }
