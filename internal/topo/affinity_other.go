//go:build !linux

package topo

import "errors"

// Usable is there on Linux only.
func Usable() ([]int, error) { return nil, errors.ErrUnsupported }

// Bind is there on Linux only.
func Bind([]int) error { return errors.ErrUnsupported }

// Here is there on Linux only.
func Here() (Machine, error) { return nil, errors.ErrUnsupported }

// HereQuota is there on Linux only.
func HereQuota() (cpus float64, limited bool) { return 0, false }
