package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// numbered is a subject whose k-th slice is one block of k µs, in which one byte
// arrived wrong.
type numbered struct{ k int }

func (n *numbered) measure(context.Context, point) (slice, error) {
	n.k++
	return slice{Blocks: []time.Duration{time.Duration(n.k) * time.Microsecond}, Ops: 1, Wrong: 1, Looked: true}, nil
}

func TestARowIsOfOneState(t *testing.T) {
	const ccx, far = 50, 200
	for _, c := range []struct {
		what  string
		looks []placement // the first is before the first slice
		kept  []float64   // the slices that count
		state string
	}{
		{"quiet", []placement{50, 51, 49, 50}, []float64{1, 2, 3}, "50ns"},
		{"one CPU", []placement{0, 0, 0, 0}, []float64{1, 2, 3}, "-"},
		{"a look that was disturbed", []placement{50, 50, far, 50, 50}, []float64{1, 2, 3}, "50ns"},
		{"away and back", []placement{ccx, ccx, far, far, ccx, ccx, ccx, ccx}, []float64{1, 4, 5}, "50ns"},
		{"for good", []placement{ccx, ccx, ccx, far, far, far, far, far}, []float64{4, 5, 6}, "200ns"},
		{"restless", []placement{ccx, far, far, ccx, ccx, far, far, ccx, ccx, far, far, ccx, ccx, far, far, ccx, ccx, far, far}, []float64{7, 8, 9}, moved},
		{"two in one state, never three", []placement{ccx, ccx, ccx, far, far, far, far, ccx, ccx, ccx, ccx, far, far}, []float64{7, 8, 9}, moved},
	} {
		t.Run(c.what, func(t *testing.T) {
			looked := 0
			d := &driver{
				job: &job{config: config{Ranks: 2, CPUs: []int{0, 1}}, request: &request{reps: 3}},
				look: func(context.Context) (placement, error) {
					looked++
					return c.looks[looked-1], nil
				},
			}
			kept, all, state, err := d.settle(context.Background(), trial{}, []subject{new(numbered), new(numbered)})
			require.NoError(t, err)
			require.Equal(t, c.state, state)
			require.Equal(t, len(c.looks), looked)
			require.Equal(t, 1, *wrong(all[:1]), "wrong bytes")
			require.Equal(t, slices.Max(c.kept), float64(*wrong(all)), "also where the times do not count")
			for subject := range 2 {
				var got []float64
				for _, s := range of(kept, subject) {
					got = append(got, float64(s.Blocks[0]/time.Microsecond))
				}
				require.Equal(t, c.kept, got)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	at := func(us float64) slice {
		return slice{Blocks: []time.Duration{time.Duration(us * 1e3)}, Ops: 1}
	}
	kept := []repetition{{slices: []slice{at(1), at(2), at(30)}, after: 110}}
	beside := new(numbered)
	for _, c := range []struct {
		terms []term
		want  figure
		name  string
	}{
		{nil, none(), "-"},
		{[]term{{name: twoLines, times: 1}}, 0.110, "two16"},
		{[]term{{name: "4×yield", subject: beside, times: 4}, {name: copying, subject: beside, times: 1}}, 4*2 + 30, "4×yield+copy"},
	} {
		us, name := (&limit{terms: c.terms}).figure(kept)
		require.Equal(t, c.name, name)
		require.Equal(t, c.want.String(), us.String())
	}
}

// asked is a subject that keeps what it was asked for.
type asked struct{ points []point }

func (a *asked) measure(_ context.Context, p point) (slice, error) {
	a.points = append(a.points, p)
	return slice{Blocks: []time.Duration{1}, Ops: 1}, nil
}

// Who waits for a peer knows what ours took, under whatever load.
func TestPeersAreExpectedToTakeWhatOursTook(t *testing.T) {
	d := &driver{
		job:  &job{config: config{Ranks: 2, CPUs: []int{0, 1}}, request: &request{reps: 2}},
		look: func(context.Context) (placement, error) { return 0, nil },
	}
	ours, peer := new(asked), new(asked)
	_, _, _, err := d.settle(context.Background(), trial{}, []subject{ours, peer})
	require.NoError(t, err)
	for k := range 2 {
		require.Zero(t, ours.points[k].expected)
		require.Positive(t, peer.points[k].expected)
	}
}
