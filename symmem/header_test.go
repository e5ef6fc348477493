package symmem

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func births() []birth {
	var all []birth
	for _, g := range []Geometry{
		{Size: 1, Window: 2 << 20, Backing: BackingShm}, {Size: 3, Window: 64 << 20, Backing: BackingMemfd},
		{Size: 1024, Window: 1 << 30, Backing: BackingShm}, {Size: 64, Window: 1 << 40, Backing: BackingMemfd},
	} {
		b := birth{Geometry: g, job: "a-job_1.2@host", creator: 4711}
		if g.Backing == BackingMemfd {
			b.memfdPid, b.memfd, b.memfdIno = 4711, 9, 1<<40+3
		}
		all = append(all, b)
	}
	return all
}

func TestBirthIsReadAsWritten(t *testing.T) {
	for _, b := range births() {
		got, err := decodeBirth(b.encode(), b.fileBytes())
		require.NoError(t, err)
		require.Equal(t, b, got)
	}
}

// TestEveryDamagedByteIsFound: each byte of the immutable page, each bit of it,
// and all its bits.
func TestEveryDamagedByteIsFound(t *testing.T) {
	for _, b := range births() {
		page := b.encode()
		for i := range page {
			was := page[i]
			for _, flip := range []byte{1, 2, 4, 8, 16, 32, 64, 128, 255} {
				page[i] = was ^ flip
				if _, err := decodeBirth(page, b.fileBytes()); err == nil {
					t.Fatalf("byte %d ^ %#x was not found", i, flip)
				} else {
					require.ErrorIs(t, err, ErrRegion)
				}
			}
			page[i] = was
		}
		for _, size := range []int64{0, 1, pageBytes - 1, pageBytes, b.fileBytes() - 1, b.fileBytes() + 1, 1 << 62, -1} {
			_, err := decodeBirth(page, size)
			require.ErrorIs(t, err, ErrRegion, "a file of %d bytes", size)
		}
	}
}

// FuzzBirth: whatever a page says, and also if its CRC is right, it is either
// refused as no region or describes one that lies inside its file.
func FuzzBirth(f *testing.F) {
	for _, b := range births() {
		f.Add(b.encode()[:128], b.fileBytes(), true)
		f.Add(b.encode()[:128], b.fileBytes(), false)
	}
	f.Fuzz(func(t *testing.T, start []byte, size int64, signed bool) {
		page := make([]byte, pageBytes)
		copy(page, start)
		if signed {
			binary.LittleEndian.PutUint32(page[pageBytes-4:], checksum(page))
		}
		b, err := decodeBirth(page, size)
		if err != nil {
			require.ErrorIs(t, err, ErrRegion)
			return
		}
		require.True(t, b.Size >= 1 && b.Size <= maxRanks, "%d ranks", b.Size)
		require.True(t, b.Window >= MinWindow && b.Window%hugeBytes == 0, "windows of %d", b.Window)
		last := blocksOff + int64(b.Size)*blockBytes
		require.True(t, last <= b.controlBytes() && b.controlBytes() <= size, "control blocks end at %d", last)
		if b.Backing == BackingShm {
			require.Equal(t, size-b.controlBytes(), int64(b.Size)*b.Window)
		}
		require.NotContains(t, b.job, "/")
		// What it says is all there is to it.
		again, err := decodeBirth(b.encode(), size)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}
