//go:build !linux

package bench

import "errors"

func sharedMemory(n int) (b []byte, free func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
