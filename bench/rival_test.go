//go:build linux

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/bench/peers"
	"github.com/symwin/symwin/internal/ranktest"
)

// fake is a peer that takes 50 µs for everything, until it fails.
type fake struct {
	name   string
	fails  error // at the second size
	wrong  int
	closed *[]string
}

func (f *fake) Name() string    { return f.name }
func (f *fake) Version() string { return f.name + " 1.0" }
func (f *fake) Command() string { return "run-" + f.name }
func (f *fake) Close() error    { *f.closed = append(*f.closed, f.name); return nil }

func (f *fake) Measure(_ context.Context, p peers.Point) (peers.Slice, error) {
	if p.Bytes > 1 && f.fails != nil {
		return peers.Slice{}, f.fails
	}
	if p.Bytes == 1 { // too small for this one
		return peers.Slice{}, fmt.Errorf("of one byte: %w", peers.ErrCannot)
	}
	return peers.Slice{Blocks: []time.Duration{100 * time.Microsecond, 110 * time.Microsecond}, Ops: 2, Wrong: f.wrong}, nil
}

// withFakes runs the command with peers that are none.
func withFakes(t *testing.T, line string) (code int, stdout, stderr string, closed []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	var out, errs bytes.Buffer
	code = mainWith(ctx, strings.Fields(line), &out, &errs, func(_ context.Context, name string, job peers.Job) (peers.Peer, error) {
		if job.Op != "alltoall" || job.Ranks != 2 || job.MaxBytes != 64 || job.Touch != "read" || len(job.CPUs) >= job.Ranks && len(job.Plan) != job.Ranks {
			return nil, fmt.Errorf("opened for %+v", job)
		}
		f := &fake{name: name, closed: &closed}
		switch name {
		case "mpich":
			return nil, &peers.MissingError{Peer: name, Package: "mpich libmpich-dev"}
		case "ucx":
			return nil, fmt.Errorf("ucx: %w", peers.ErrCannot)
		case "shmwin":
			f.fails = &peers.FailedError{Peer: name, What: "hung"}
		case "unix":
			f.wrong = 5
		case "pipe":
			return nil, &peers.FailedError{Peer: name, What: "would not start"}
		}
		return f, nil
	})
	return code, out.String(), errs.String(), closed
}

func TestPeersThatAreNotThereCannotOrFailDoNotStopTheRest(t *testing.T) {
	const line = "alltoall -n 2 -b 1 -e 64 -f 8 -i 1 --reps 2 --touch read --peer all"
	code, stdout, stderr, closed := withFakes(t, line+" --format json")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	meta, _, _ := strings.Cut(stdout, "\n")
	for _, want := range []string{
		`"openmpi":{"version":"openmpi 1.0","command":"run-openmpi"}`,
		`"mpich":{"note":"mpich is not installed: apt-get install mpich libmpich-dev"}`,
		`"pipe":{"note":"pipe failed: would not start"}`,
	} {
		require.Contains(t, meta, want)
	}
	rows := rowsOf(t, stdout)
	require.Len(t, rows, 3)
	for k, r := range rows {
		require.Len(t, r.Peers, len(peers.Names))
		if k == 0 {
			require.False(t, r.Peers["openmpi"].P50.ok(), "cannot do one byte, but goes on")
		} else {
			require.Equal(t, figure(50), r.Peers["openmpi"].P50)
			require.Empty(t, r.Peers["openmpi"].Failed)
			if r.State != moved {
				require.InDelta(t, 50/float64(r.P50), float64(r.Peers["openmpi"].Ratio), 0.01*50/float64(r.P50))
			}
		}
		require.Empty(t, r.Peers["mpich"].Failed)
		require.Empty(t, r.Peers["ucx"].Failed)
		require.Contains(t, r.Peers["pipe"].Failed, "would not start")
	}
	require.Empty(t, rows[0].Peers["shmwin"].Failed)
	require.Contains(t, rows[1].Peers["shmwin"].Failed, "hung")
	require.Contains(t, rows[2].Peers["shmwin"].Failed, "hung")
	require.Contains(t, rows[1].Peers["unix"].Failed, "5 bytes arrived wrong")
	require.ElementsMatch(t, []string{"openmpi", "shmwin", "unix"}, closed, "each closed once")

	code, stdout, stderr, _ = withFakes(t, line)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "# mpich is not installed: apt-get install mpich libmpich-dev\n")
	title, _, _ := strings.Cut(stdout[strings.Index(stdout, "#      bytes"):], "\n")
	require.NotContains(t, title, "mpich")
	require.Contains(t, title, "ucx")
	require.Contains(t, stdout, "failed")
	require.Contains(t, stdout, "# unix: 5 bytes arrived wrong\n")
	require.Regexp(t, `(?m)^ +64 .* wrong +- `, stdout)
}

func TestRatiosAreOfOneState(t *testing.T) {
	r := &rival{name: "unix"}
	slices := []slice{{Blocks: []time.Duration{3000}, Ops: 1}}
	row := Row{State: "110ns", summary: summary{P50: 1.5}}
	require.Equal(t, figure(2), r.figure(row, slices).Ratio)
	row.State = moved
	require.Equal(t, figure(3), r.figure(row, slices).P50)
	require.False(t, r.figure(row, slices).Ratio.ok())
}

// What a peer's figure is without stands beside it.
func TestStartsThatDoNotCountAreTold(t *testing.T) {
	r := &rival{name: "mpich"}
	some := slice{Blocks: []time.Duration{3000}, Ops: 1, dropped: 2}
	f := r.figure(Row{State: "110ns", summary: summary{P50: 1.5}}, []slice{some, some})
	require.Equal(t, 4, f.Dropped)
	j := &job{config: config{Ranks: 1, CPUs: []int{0}}, request: &request{peers: []string{"mpich"}, touch: touchNone}, op: startup}
	const want = "mpich: 4 starts ended by a broken pipe, not counted"
	for _, j.format = range []string{"table", "csv", "gobench"} {
		var b bytes.Buffer
		out, err := newOutput(&b, j, Meta{})
		require.NoError(t, err)
		require.NoError(t, out.row(Row{Op: "startup", Ranks: 1, Peers: map[string]PeerFigure{"mpich": f}}))
		require.Contains(t, b.String(), "# "+want+"\n")
	}
}

// A peer is told what ours and those before it take.
func TestPeersAreOpenedBesideEachOther(t *testing.T) {
	q, err := parse([]string{"alltoall", "-n", "2", "-b", "1K", "-e", "1M", "--peer", "openmpi,mpich,ucx,unix"})
	require.NoError(t, err)
	j, err := q.job()
	require.NoError(t, err)
	var beside []float64
	var closed []string
	openRivals(t.Context(), j, func(_ context.Context, name string, job peers.Job) (peers.Peer, error) {
		if beside = append(beside, job.Beside); name == "mpich" {
			return nil, &peers.MissingError{Peer: name}
		}
		return &fake{name: name, closed: &closed}, nil
	})
	const each = 2 * 2 * 2 << 20 // what two ranks send to two, and what they receive
	require.Greater(t, beside[0], float64(each), "ours")
	require.Equal(t, []float64{beside[0], beside[0] + each, beside[0] + each, beside[0] + each + 4<<20}, beside)
}

func TestNoRoomForTheRanks(t *testing.T) {
	defer func(was func() (int64, bool)) { memoryRoom = was }(memoryRoom)
	memoryRoom = func() (int64, bool) { return 1 << 20, true }
	var errs bytes.Buffer
	require.Equal(t, exitUsage, Main(t.Context(), []string{"alltoall", "-n", "2", "-b", "1M", "-e", "1M"}, io.Discard, &errs))
	require.Contains(t, errs.String(), "have 1048576; lower --max or -n")
}

// hasty is a peer whose first slices have blocks that are too short.
type hasty struct {
	fake
	slices int
}

func (h *hasty) Measure(context.Context, peers.Point) (peers.Slice, error) {
	h.slices++
	return peers.Slice{Blocks: []time.Duration{time.Duration(h.slices) * 10 * time.Microsecond}, Ops: 1}, nil
}

func TestBlocksOfPeersThatAreTooShortAreMeasuredAgain(t *testing.T) {
	peer := new(hasty)
	r := &rival{name: "openmpi", peer: peer}
	got, err := r.at(8).measure(t.Context(), point{Shortest: minBlock})
	require.NoError(t, err)
	require.Equal(t, minBlock, got.typical())
	require.Equal(t, 2, peer.slices)
	_, err = r.at(8).measure(t.Context(), point{Shortest: time.Hour})
	require.NoError(t, err)
	require.Equal(t, 2+maxAgain, peer.slices, "not for ever")
}
