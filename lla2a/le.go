package lla2a

import "encoding/binary"

func le64(b *[8]byte) uint64 { return binary.LittleEndian.Uint64(b[:]) }

func putLE64(b *[8]byte, v uint64) { binary.LittleEndian.PutUint64(b[:], v) }
