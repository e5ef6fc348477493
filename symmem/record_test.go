package symmem_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/reduce"
	"github.com/symwin/symwin/symmem"
)

// TestRecordsSayWhy: what ps and errors show of a call tells its elements, and up
// to where its engine carries it.
func TestRecordsSayWhy(t *testing.T) {
	record := func(e symmem.Engine, d symmem.Details, border uint64) string {
		return symmem.Record{Op: symmem.OpAllReduce, Engine: e, Sequence: 3, EltSize: 4, Count: 1000, Digest: d.Digest() + border}.String()
	}
	sum := symmem.Details{Kind: reflect.Float32, Reduce: reduce.Sum}
	const what = "allreduce #3 of 1000×4 B float32 by sum"
	require.Equal(t, what+" on team 0 (ce)", record(symmem.EngineCE, sum, 0))
	measured := symmem.Border{Bytes: 4096}.Digest()
	require.Equal(t, what+" on team 0 (ce: above 4096 B)", record(symmem.EngineCE, sum, measured))
	require.Equal(t, what+" on team 0 (ll64: up to 4096 B)", record(symmem.EngineLL64, sum, measured))
	byHand := func(bytes int) uint64 { return symmem.Border{Bytes: bytes, ByHand: true}.Digest() }
	require.Equal(t, what+" on team 0 (bcopy: always, by SYMWIN_ALGO)", record(symmem.EngineBCopy, sum, byHand(-1)))
	require.Contains(t, record(symmem.EngineLL64, sum, byHand(1<<40)), "(ll64: up to 4294967293 B, by SYMWIN_ALGO)")
	sum.Step = 1
	require.Equal(t, what+", step 2, on team 0 (ce: above 4096 B, by SYMWIN_ALGO)", record(symmem.EngineCE, sum, byHand(4096)))
}
