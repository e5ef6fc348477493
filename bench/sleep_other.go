//go:build !linux

package bench

import "github.com/symwin/symwin/internal/futex"

func sleep(word *uint32, value uint32) { futex.Wait(word, value, 0) }
