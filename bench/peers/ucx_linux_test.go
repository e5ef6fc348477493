package peers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUCX(t *testing.T) {
	for _, op := range []string{"latency", "put", "bw"} {
		t.Run(op, func(t *testing.T) {
			p := opened(t, "ucx", bound(t, op, 2))
			require.Regexp(t, `^UCX \d+\.\d`, p.Version())
			require.Contains(t, p.Command(), "ucx_perftest localhost")
			requireSlice(t, p, 8)
			require.Empty(t, marked(p.(*ucx).tree.mark), "it is to be over between two slices")
			if op == "latency" {
				requireSlice(t, p, 4096)
			}
		})
	}
}

func TestUCXCannot(t *testing.T) {
	for _, j := range []Job{
		{Op: "alltoall", Ranks: 2}, {Op: "latency", Ranks: 4}, {Op: "latency", Ranks: 2, Touch: "read"}, {Op: "rate", Ranks: 2},
	} {
		_, err := Open(t.Context(), "ucx", j)
		require.ErrorIs(t, err, ErrCannot)
	}
}

func TestUCXHangs(t *testing.T) {
	j := bound(t, "latency", 2)
	j.Timeout = 200 * time.Millisecond
	p := opened(t, "ucx", j)
	// A server that nobody can reach: its arguments are refused, or it waits.
	p.(*ucx).test = "no_such_test"
	_, err := p.Measure(t.Context(), Point{Bytes: 8, Budget: time.Millisecond})
	var failure *FailedError
	require.ErrorAs(t, err, &failure)
	require.Empty(t, marked(p.(*ucx).tree.mark))
}

func TestParseUCX(t *testing.T) {
	const head = "batch,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
	got, err := parseUCX(head+"[1.2] UCX WARN\nblock,1000,0.120,0.231,0.200,33.00,33.00,4325251,4000000\nblock,1000,1.0,1.0,100.0,33.00,33.00,9999,9999\n", 1000)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{250 * time.Microsecond, 100 * time.Millisecond}, got)
	for _, bad := range []string{"block,1000,0.1\n", "block,1,2,3,x,5,6,7,8\n", "block,1,2,3,0,5,6,7,0\n"} {
		_, err := parseUCX(head+bad, 1000)
		require.Error(t, err, bad)
	}
}
