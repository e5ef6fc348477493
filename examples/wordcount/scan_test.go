package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLetters8KnowsEveryByteAtEveryPlace(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for c := range 256 {
		for at := range 8 {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], random.Uint64())
			b[at] = byte(c)
			want := uint64(0)
			for i, c := range b {
				if len(words([]byte{c})) == 1 {
					want |= 1 << i
				}
			}
			require.Equal(t, want, letters8(binary.LittleEndian.Uint64(b[:])), "%q", b)
			require.Equal(t, want>>at&1 == 1, isLetter(byte(c)))
		}
	}
}

func TestScanIsTheObviousCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := someText().Draw(t, "text")
		s := scanner{words: newTable()}
		s.scan(withSlack(text))
		require.Equal(t, words(text), counted(s.words))
	})
}

// Words that lie across the place where the scanner hands its edges on, with an
// even and with an odd number of them.
func TestScanHandsOnWordsOfAllLengths(t *testing.T) {
	for size := 1; size < 200; size++ {
		for _, front := range []string{"", " ", "a "} {
			text := []byte(front)
			for i := range 3000 / size * 4 {
				text = fmt.Appendf(text, "%0*d ", size, i)
			}
			s := scanner{words: newTable()}
			s.scan(withSlack(text))
			require.Equal(t, words(text), counted(s.words), "size %d", size)
		}
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	text := withSlack([]byte(`The quick brown fox jumps over the lazy dog; a word of 34 letters is
		supercalifragilisticexpialidocious, which goes to the arena. ` + fmt.Sprint(rand.Perm(2000))))
	s := scanner{words: newTable()}
	s.scan(text)
	require.Zero(t, testing.AllocsPerRun(10, func() { s.scan(text) }))
}

// goSource is all of GOROOT/src in one piece of memory.
func goSource(b *testing.B) []byte {
	var all bytes.Buffer
	err := filepath.WalkDir(filepath.Join(build.Default.GOROOT, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.ReadFile(path)
		all.Write(f)
		all.WriteByte(0)
		return err
	})
	if err != nil {
		b.Skip(err)
	}
	b.SetBytes(int64(all.Len()))
	b.ResetTimer()
	return withSlack(all.Bytes())
}

func BenchmarkScan(b *testing.B) {
	text := goSource(b)
	for b.Loop() {
		s := scanner{words: newTable()}
		s.scan(text)
	}
}

// BenchmarkScanMap is what the scanner would do with Go's map.
func BenchmarkScanMap(b *testing.B) {
	text := goSource(b)
	for b.Loop() {
		m := map[string]*uint64{}
		var word []byte
		for _, c := range text {
			if isLetter(c) {
				word = append(word, c|caseBit)
				continue
			}
			if len(word) > 0 {
				n := m[string(word)]
				if n == nil {
					n = new(uint64)
					m[string(word)] = n
				}
				*n++
				word = word[:0]
			}
		}
	}
}
