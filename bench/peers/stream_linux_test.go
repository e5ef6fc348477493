package peers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStreams(t *testing.T) {
	for _, name := range []string{"unix", "pipe"} {
		for _, j := range []Job{
			bound(t, "latency", 2), bound(t, "bw", 2), bound(t, "alltoall", 2),
			{Op: "alltoall", Ranks: 3, Touch: "full"}, {Op: "bw", Ranks: 4, Touch: "read", CPUs: cpus(t)}, {Op: "latency", Ranks: 4, Touch: "full"},
		} {
			t.Run(fmt.Sprint(name, "/", j.Op, "/", j.Ranks, j.Touch), func(t *testing.T) {
				t.Parallel()
				j.MaxBytes = 70_001
				if j.Op == "alltoall" {
					j.MaxBytes = 300_001 // beyond what the kernel buffers
				}
				p := opened(t, name, j)
				require.Contains(t, p.Command(), RankCommand)
				for _, bytes := range []int64{1, 8, 8, 4096, j.MaxBytes} {
					requireSlice(t, p, bytes)
					for _, pid := range marked(p.(*streams).tree.mark) {
						state, _, _ := stat(procDir(pid))
						require.Equal(t, "T", state)
					}
				}
			})
		}
	}
}

func TestStreamsWrong(t *testing.T) {
	fault = 1
	defer func() { fault = -1 }()
	p := opened(t, "unix", bound(t, "latency", 2))
	s, err := p.Measure(t.Context(), Point{Bytes: 13, Shortest: short.Shortest, Budget: short.Budget})
	require.NoError(t, err)
	require.Equal(t, 1, s.Wrong)
	requireSlice(t, p, 13)
}

// A rank that is killed is told, and the others end.
func TestStreamsFailed(t *testing.T) {
	p := opened(t, "pipe", bound(t, "latency", 2)).(*streams)
	requireSlice(t, p, 8)
	require.NoError(t, p.ranks[1].cmd.Process.Kill())
	_, err := p.Measure(t.Context(), Point{Bytes: 8, Shortest: short.Shortest, Budget: short.Budget})
	var failure *FailedError
	require.ErrorAs(t, err, &failure)
	require.Empty(t, marked(p.tree.mark))
}

func TestStreamsCannot(t *testing.T) {
	for _, j := range []Job{{Op: "put", Ranks: 2}, {Op: "latency", Ranks: 3}, {Op: "alltoall", Ranks: 2, InPlace: true}} {
		_, err := Open(t.Context(), "unix", j)
		require.ErrorIs(t, err, ErrCannot)
	}
	require.Equal(t, 1, RankMain(context.Background(), nil))
}

// The streams of a turn, a rank or a slot have nothing in common, and every byte
// that is changed is counted.
func TestStream(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, quick := range []bool{false, true} {
		a := stream{3, 1, 2, 4, quick}
		b := make([]byte, 999)
		a.fill(b)
		require.Zero(t, a.wrong(b))
		for _, other := range []stream{{2, 1, 2, 4, quick}, {3, 2, 2, 4, quick}, {3, 1, 1, 4, quick}, {3, 1, 2, 5, quick}, {3, 2, 1, 4, quick}} {
			require.Greater(t, other.wrong(b), 100, "%v", other)
		}
		places := random.Perm(len(b))[:5]
		for _, k := range places {
			b[k] ^= byte(1 + random.IntN(255))
		}
		require.Equal(t, len(places), a.wrong(b))
	}
}

func TestPace(t *testing.T) {
	// A rank that takes 3 µs an operation.
	var c pace
	runs := 0
	run := func(blocks, ops int) (times []time.Duration, wrong int, err error) {
		runs++
		for range blocks {
			times = append(times, time.Duration(ops)*3*time.Microsecond)
		}
		return times, 1, nil
	}
	p := Point{Bytes: 8, Shortest: 20 * time.Microsecond, Budget: time.Millisecond}
	s, err := c.measure(p, 8, run)
	require.NoError(t, err)
	require.GreaterOrEqual(t, s.Ops, 9) // 25 µs, a quarter more than the shortest
	require.Less(t, s.Ops, 20)
	require.Equal(t, 16, s.Wrong, "8 single operations and 8 rounds; calibration is not verified")
	require.Equal(t, int(p.Budget/(time.Duration(s.Ops)*3*time.Microsecond)), len(s.Blocks))
	runs = 0
	_, err = c.measure(p, 8, run)
	require.NoError(t, err)
	require.Equal(t, 10, runs, "a check, a block to warm up and 8 rounds; it was calibrated again although nothing changed")
}
