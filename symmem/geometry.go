package symmem

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/symwin/symwin/internal/shm"
)

// Backing says where a region's windows lie.
type Backing uint32

// The backings.
const (
	BackingAuto  Backing = iota // shm where it is large enough, else memfd
	BackingShm                  // a file in /dev/shm
	BackingMemfd                // a sealed memfd: nobody can truncate it, /dev/shm may be small
	BackingHeap                 // the memory of one process (Run, worlds of one)
)

var backingNames = []string{"auto", "shm", "memfd", "heap"}

func (b Backing) String() string {
	if int(b) < len(backingNames) {
		return backingNames[b]
	}
	return fmt.Sprintf("backing(%d)", uint32(b))
}

// MarshalText writes the backing's name into JSON.
func (b Backing) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Backings lists what [ParseBacking] reads, the default first.
func Backings() []string { return slices.Clone(backingNames[:3]) }

// ParseBacking reads auto, shm or memfd.
func ParseBacking(s string) (Backing, error) {
	for i, n := range backingNames[:3] {
		if s == n {
			return Backing(i), nil
		}
	}
	return 0, usage("%q is no backing: choose auto, shm or memfd", s)
}

// Geometry is the shape of a region: what its creator decides and everybody else
// must find.
type Geometry struct {
	Size    int     `json:"size"`    // ranks, 1 to 1024
	Window  int64   `json:"window"`  // bytes of one rank's window, rounded up to 2 MiB: address space, not memory
	Backing Backing `json:"backing"` //
}

// MinWindow is the smallest window: room for the engines' own areas of a small
// team and a little heap.
const MinWindow = 1 << 20

// normal checks g and rounds it.
func (g Geometry) normal() (Geometry, error) {
	if g.Size < 1 || g.Size > maxRanks {
		return g, usage("%d ranks: a job has 1 to %d", g.Size, maxRanks)
	}
	if g.Window < MinWindow {
		return g, usage("a window of %s is too small: give --window, or SYMWIN_WINDOW, at least %s", sizeText(g.Window), sizeText(MinWindow))
	}
	if g.Window > 1<<40 {
		return g, usage("a window of %s is too large: at most 1024 GiB", sizeText(g.Window))
	}
	g.Window = (g.Window + hugeBytes - 1) &^ (hugeBytes - 1)
	if int64(g.Size) > (1<<46)/g.Window {
		return g, usage("%d windows of %s do not fit the address space: give a smaller --window", g.Size, sizeText(g.Window))
	}
	return g, nil
}

func (g Geometry) controlBytes() int64 {
	return (blocksOff + int64(g.Size)*blockBytes + hugeBytes - 1) &^ (hugeBytes - 1)
}

func (g Geometry) windowsBytes() int64 { return int64(g.Size) * g.Window }

// The immutable page. Numbers are little-endian; the CRC-32C in the last four
// bytes covers all the rest, so a flip anywhere in the page is found.
const (
	magic         = shm.Magic
	layoutVersion = 1
	maxJob        = 200
)

// birth is the content of the immutable page.
type birth struct {
	Geometry
	job      string
	creator  uint32 // pid
	memfdPid uint32 // where the windows' memfd is found, for BackingMemfd, before Join returns
	memfd    uint32
	memfdIno uint64 // and by which it is known: the pid may be another's by then
	space    uint64 // the PID namespace of both pids; 0: unknown
}

func (b *birth) encode() []byte {
	p := make([]byte, pageBytes)
	le := binary.LittleEndian
	copy(p, magic)
	le.PutUint32(p[8:], layoutVersion)
	le.PutUint32(p[12:], uint32(b.Size))
	le.PutUint64(p[16:], uint64(b.Window))
	le.PutUint64(p[24:], uint64(blockBytes))
	le.PutUint64(p[32:], uint64(b.controlBytes()))
	le.PutUint32(p[40:], uint32(b.Backing))
	le.PutUint32(p[44:], b.creator)
	le.PutUint32(p[48:], b.memfdPid)
	le.PutUint32(p[52:], b.memfd)
	le.PutUint32(p[56:], uint32(len(b.job)))
	copy(p[64:64+maxJob], b.job)
	le.PutUint64(p[272:], b.memfdIno)
	le.PutUint64(p[280:], b.space)
	le.PutUint32(p[pageBytes-4:], checksum(p))
	return p
}

// checksum is that of a page, the checksum itself left out. The table is made at
// the first call: most of what this package's start would cost a program that
// joins nothing.
func checksum(page []byte) uint32 {
	return crc32.Checksum(page[:pageBytes-4], crc32.MakeTable(crc32.Castagnoli))
}

// decodeBirth reads an immutable page and believes none of it before it is
// checked: owner, mode and type were the file's; here come magic, version, CRC,
// every bound, and the size of the file against the geometry.
func decodeBirth(p []byte, fileSize int64) (birth, error) {
	le := binary.LittleEndian
	if len(p) < pageBytes || fileSize < pageBytes {
		return birth{}, regionError("the file has %d bytes, less than a header", fileSize)
	}
	p = p[:pageBytes]
	if string(p[:8]) != magic {
		return birth{}, regionError("no symwin region (magic %x)", p[:8])
	}
	if v := le.Uint32(p[8:]); v != layoutVersion {
		return birth{}, regionError("layout version %d, this library speaks %d: run all ranks with one version of symwin", v, layoutVersion)
	}
	if got, want := le.Uint32(p[pageBytes-4:]), checksum(p); got != want {
		return birth{}, regionError("the header page is damaged (CRC %08x, should be %08x)", got, want)
	}
	b := birth{
		Geometry: Geometry{
			Size:    int(le.Uint32(p[12:])),
			Window:  int64(le.Uint64(p[16:])),
			Backing: Backing(le.Uint32(p[40:])),
		},
		creator:  le.Uint32(p[44:]),
		memfdPid: le.Uint32(p[48:]),
		memfd:    le.Uint32(p[52:]),
		memfdIno: le.Uint64(p[272:]),
		space:    le.Uint64(p[280:]),
	}
	g, err := b.Geometry.normal()
	if err != nil || g.Window != b.Window {
		return birth{}, regionError("impossible geometry: %d ranks, windows of %d bytes", b.Size, b.Window)
	}
	if b.Backing != BackingShm && b.Backing != BackingMemfd {
		return birth{}, regionError("unknown backing %d", b.Backing)
	}
	if got := le.Uint64(p[24:]); got != uint64(blockBytes) {
		return birth{}, regionError("control blocks of %d bytes, this library's have %d", got, blockBytes)
	}
	if got := le.Uint64(p[32:]); got != uint64(b.controlBytes()) {
		return birth{}, regionError("windows at %d, should be at %d", got, b.controlBytes())
	}
	if want := b.fileBytes(); fileSize != want {
		return birth{}, regionError("the file has %d bytes, its geometry needs %d: it was truncated or extended", fileSize, want)
	}
	n := le.Uint32(p[56:])
	if n > maxJob {
		return birth{}, regionError("a job name of %d bytes", n)
	}
	b.job = string(p[64 : 64+n])
	if strings.ContainsRune(b.job, '/') {
		return birth{}, regionError("job name %q", b.job)
	}
	return b, nil
}

// fileBytes is the size of the named file.
func (b *birth) fileBytes() int64 {
	if b.Backing == BackingMemfd {
		return b.controlBytes()
	}
	return b.controlBytes() + b.windowsBytes()
}
