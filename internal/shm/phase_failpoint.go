//go:build symwinfail && linux

package shm

import "github.com/symwin/symwin/internal/failpoint"

func init() {
	phase = func(name string) { failpoint.Hit("shm." + name) }
}
