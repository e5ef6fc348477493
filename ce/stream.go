package ce

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Stream is an ordered queue of copy operations of one team: batches, which may
// be started and waited for later, and exchanges. Operations are collective:
// every member makes the same ones in the same order.
//
// One goroutine at a time per stream; different streams, also of one team, may be
// used from different goroutines. A Pending may be asked from anywhere.
type Stream struct {
	team     *symmem.Team
	lane     *symmem.Lane
	owns     bool // the lane is the stream's own
	area     *window.Area
	o        Options
	ring     ring
	crew     crew
	together func(dst, src []byte) // copyTogether, a value made once

	edges []edge // by member
	own   *edge  // this rank's: what it sends itself, and nothing else
	other *edge  // the one other rank's, where there is one and every rank has a CPU, or nil
	queue queue
	idle  idleCPU

	shares bool // every rank has a CPU: nobody's waiting is of use to another

	// The operation under way.
	sequence  uint64                // operations so far
	tag       uint64                // of its ready lines
	unit      int                   // bytes that are never cut
	copies    func(dst, src []byte) // how to copy a piece,
	alone     func(dst, src []byte) // in this goroutine,
	suits     int64                 // in an operation that touches so many bytes
	ownAt     int                   // what this rank sends itself has yet to be copied from here on,
	ownEnd    int                   // to here
	open      []int                 // members with something left to do
	footprint int64                 // bytes of all parts
	places    *window.Finder        // of destinations
	sources   *window.Finder
	refuser   int   // the first member that refuses, or -1
	refused   ready // what it says
	void      bool  // nothing is to be copied
	fatal     error // what cannot be
	otherCall bool  // a peer called something else
	stirred   bool  // something has moved that no look has told of

	folder         Folder
	folded, toFold int
	inPlace        bool
	slices         [][]byte // what Fold is given

	secret    uint64 // by which peers know this process (reach.go)
	unreached atomic.Pointer[string]
	readLeast int // bytes for which it is worth while to have the kernel read, once a peer can be reached

	late   lateness
	mu     sync.Mutex // guards queue and closed
	closed bool
	busy   atomic.Bool // closed, or the queue is not empty: drain has something to do
}

// Options of a stream. The zero value is a good one. Staging is the same on all
// members.
type Options struct {
	// Workers is how many goroutines copy, the one that runs the operation
	// included; 0: one for every CPU that this rank has to itself, as far as it
	// can tell. More than one are used for large copies only, and never more in
	// a process than there are CPUs.
	Workers int
	// Staging is the bytes of staging ring per member, taken when an operation
	// first needs it; 0 for at most twice the L2, as suits the processor. At most
	// an eighth of the window.
	Staging int64
	// StepLarge and StepBytes bound what a rank copies of a batch before it waits
	// for the others to have come as far: so many copies of 1 MiB and more, 0 for
	// 8, and so many bytes, 0 for 512 MiB. Ranks that drift apart write to one
	// receiver at the same time.
	StepLarge int
	StepBytes int64
}

const (
	defaultStepLarge = 8
	defaultStepBytes = 512 << 20
)

func (o Options) normal(team *symmem.Team) (Options, error) {
	for _, v := range []struct {
		name  string
		value int64
	}{{"workers", int64(o.Workers)}, {"staging", o.Staging}, {"copies a step", int64(o.StepLarge)}, {"bytes a step", o.StepBytes}} {
		if v.value < 0 {
			return o, fmt.Errorf("%w: %s: %d", symmem.ErrUsage, v.name, v.value)
		}
	}
	if o.Workers == 0 {
		o.Workers = spareCPUs(team)
	}
	if o.Staging == 0 {
		o.Staging = stagingFor(team.Size())
	}
	o.Staging = min(o.Staging, team.World().Geometry().Window/8)
	if o.StepLarge == 0 {
		o.StepLarge = defaultStepLarge
	}
	if o.StepBytes == 0 {
		o.StepBytes = defaultStepBytes
	}
	return o, nil
}

// Open makes a stream whose operations have an order of their own, beside those
// of the team and of its other streams. It is collective over team. It takes
// some lines of every member's window; staging comes with the first operation
// that needs it. Errors: ErrUsage; ErrNoSpace on all members; ErrMismatch.
func Open(ctx context.Context, team *symmem.Team, o Options) (*Stream, error) {
	s, err := open(ctx, team, symmem.Record{Op: symmem.OpOpen, Engine: symmem.EngineCE}, o)
	if err != nil {
		return nil, fmt.Errorf("ce.Open: %w", err)
	}
	n := team.Size()
	records := make([]*[8]uint64, n)
	for r := range records {
		records[r] = wordsOf(s.area.Peer(r)).record(n)
	}
	s.owns, s.lane = true, team.OpenLane(records[team.Rank()], records)
	return s, nil
}

// OpenFor makes a stream whose operations are calls of the team itself: in one
// order with its barriers and other engines, so that a rank which calls something
// else is found in any of them. It is for the front door; call is what it is
// opened for, as records show it.
func OpenFor(ctx context.Context, team *symmem.Team, call symmem.Record, o Options) (*Stream, error) {
	s, err := open(ctx, team, call, o)
	if err != nil {
		return nil, err
	}
	s.lane = team.Lane()
	return s, nil
}

func open(ctx context.Context, team *symmem.Team, call symmem.Record, o Options) (*Stream, error) {
	o, err := o.normal(team)
	if err != nil {
		return nil, err
	}
	n, me := team.Size(), team.Rank()
	s := &Stream{team: team, o: o, ring: ringFor(o.Staging, n), crew: crew{workers: o.Workers}, shares: !team.SharesCPUs(),
		places: window.NewFinder(team.World()), sources: window.NewFinder(team.World()), edges: make([]edge, n), open: make([]int, 0, n), slices: make([][]byte, n)}
	call.Digest = call.Digest*31 + uint64(s.ring.share)
	team.World().Hold() // what is stored here passes no lane
	defer team.World().Unhold()
	if s.area, err = window.OpenArea(ctx, team, call, areaBytes(n)); err != nil {
		return nil, err
	}
	s.secret = rand.Uint64()
	mine := wordsOf(s.area.Local())
	for r := range s.edges {
		theirs := wordsOf(s.area.Peer(r))
		s.deal(theirs.line(kindComplete, n, me))
		s.edges[r] = edge{
			s: s, peer: r, card: mine.line(kindComplete, n, r),
			readyIn: mine.line(kindReady, n, r), readyOut: theirs.line(kindReady, n, me),
			completeIn: &mine.line(kindComplete, n, r)[0], completeOut: &theirs.line(kindComplete, n, me)[0],
			creditIn: &mine.line(kindCredit, n, r)[0], creditOut: &theirs.line(kindCredit, n, me)[0],
		}
	}
	s.own = &s.edges[me]
	s.findOther()
	s.queue.move, s.together = s.move, s.copyTogether
	return s, nil
}

// Close ends the stream and gives its memory back. It waits for what was started,
// and is then collective over the team and a call of it. A context that ends
// before that changes nothing. A second Close does nothing; other calls on a
// closed stream return symmem.ErrClosed.
func (s *Stream) Close(ctx context.Context) error {
	err := s.drain(ctx)
	if errors.Is(err, symmem.ErrClosed) {
		return nil
	}
	s.team.World().Hold()
	defer s.team.World().Unhold()
	if err == nil {
		err = s.area.Close(ctx)
	}
	if err != nil {
		return fmt.Errorf("ce.Close: %w", err)
	}
	if s.owns {
		s.lane.Close()
	}
	s.mu.Lock()
	s.closed = true
	s.busy.Store(true)
	s.mu.Unlock()
	if s.ring.memory == nil {
		return nil
	}
	// Every member was here, so nobody sends any more.
	if err := s.ring.memory.Give(); err != nil {
		return fmt.Errorf("ce.Close: %w", err)
	}
	return nil
}
