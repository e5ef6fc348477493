package line

import (
	"bytes"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestStores(t *testing.T) {
	var a [3]uint64
	StoreRelease64(&a[1], 0x0123456789abcdef)
	require.Equal(t, [3]uint64{0, 0x0123456789abcdef, 0}, a)
	var b [3]uint32
	StoreRelease32(&b[1], 0x89abcdef)
	require.Equal(t, [3]uint32{0, 0x89abcdef, 0}, b)
	Pause()
}

func TestPublishRecordStoresEveryWord(t *testing.T) {
	src := [8]uint64{1, 2, 3, 4, 5, 6, 7, 1}
	var dst [10]uint64
	PublishRecord((*[8]uint64)(dst[1:9]), &src)
	require.Equal(t, [10]uint64{0, 1, 2, 3, 4, 5, 6, 7, 1, 0}, dst)
	got, ok := LoadRecord((*[8]uint64)(dst[1:9]))
	require.True(t, ok)
	require.Equal(t, src, got)
}

func TestLoadRecordSeesHalfARecord(t *testing.T) {
	_, ok := LoadRecord(&[8]uint64{2, 2, 3, 4, 5, 6, 7, 1}) // the writer is inside
	require.False(t, ok)
}

// A reader beside a writer gets whole records only: all words of one version.
func TestRecordsAreWhole(t *testing.T) {
	var shared [8]uint64
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v := uint64(1); !stop.Load(); v++ {
			PublishRecord(&shared, &[8]uint64{v, v, v, v, v, v, v, v})
		}
	}()
	whole := 0
	for whole < 20000 {
		r, ok := LoadRecord(&shared)
		if !ok {
			continue
		}
		whole++
		for i, w := range r {
			if w != r[0] {
				t.Fatalf("word %d is of version %d, word 0 of %d", i, w, r[0])
			}
		}
	}
	stop.Store(true)
	<-done
}

// Fetching lines, to write or to read them, changes nothing, whatever of the last one
// is meant.
func TestTakeAndFetchLines(t *testing.T) {
	memory := noise(1024)
	want := bytes.Clone(memory)
	for _, n := range []int{1, 63, 64, 65, 128, 900} {
		TakeLines((*uint64)(unsafe.Pointer(&memory[64])), n)
		FetchLines((*uint64)(unsafe.Pointer(&memory[64])), n)
	}
	require.Equal(t, want, memory)
}
