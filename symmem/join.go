package symmem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"time"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/futex"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/internal/topo"
	shmsync "github.com/symwin/symwin/sync"
)

// Join makes this process a rank of the job that its environment names: under
// shmrun; under mpirun of Open MPI or MPICH, srun or torchrun, if all ranks are on
// this host; or by hand with SYMWIN_JOB, SYMWIN_RANK and SYMWIN_SIZE, which win.
// With none of them, and in a batch script of Slurm's, it is a world of one. It
// returns when all ranks have come.
//
// Errors: ErrUsage for variables that are half set, or speak of other hosts or of
// two launchers, and for a place that is taken; ErrTimeout naming who did not come;
// ErrRankFailed for a rank that died while joining; ErrRegion for what is no region
// or another version's; ErrNoSpace.
func Join(ctx context.Context) (*World, error) {
	o, err := fromEnvironment()
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	return JoinWith(ctx, o)
}

// FromEnvironment returns what Join would begin with here: who this process is,
// with an empty Job for a world of one, and all settings. It looks at variables
// only. Errors: those of Join's that they lead to.
func FromEnvironment() (Options, error) {
	o, err := fromEnvironment()
	if err == nil {
		o, _, err = o.settled()
	}
	if err != nil {
		return Options{}, fmt.Errorf("join: %w", err)
	}
	return o, nil
}

// JoinWith is Join with everything said by hand. Zero fields of o take their
// defaults, from the SYMWIN_* variables where they are set.
func JoinWith(ctx context.Context, o Options) (*World, error) {
	w, err := joinWorld(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	return w, nil
}

func joinWorld(ctx context.Context, o Options) (*World, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, g, err := o.settled()
	if err != nil {
		return nil, err
	}
	if o.Job == "" {
		return alone(o)
	}
	start := time.Now()
	r, err := attach(ctx, &o, g)
	if err != nil {
		return nil, err
	}
	w, err := enter(ctx, o, r, start)
	if errors.Is(err, ErrRegion) {
		// The guard may be on it still, so it stays mapped; its name goes.
		_ = r.file.Unlink()
		r.closeFiles()
		return nil, err
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return w, nil
}

// settled fills in what was left open and checks all that one process can know.
func (o Options) settled() (Options, Geometry, error) {
	o, err := o.withDefaults(defaultWindow)
	if err != nil {
		return o, Geometry{}, err
	}
	if o.Job == "" && o.Rank == 0 && (o.Size == 0 || o.Size == 1) {
		o.Size = 1
	} else if err := checkJob(o.Job); err != nil {
		return o, Geometry{}, err
	}
	g, err := Geometry{Size: o.Size, Window: o.Window, Backing: o.Backing}.normal()
	if err == nil && (o.Rank < 0 || o.Rank >= o.Size) {
		err = usage("rank %d of %d: ranks count from 0 to %d", o.Rank, o.Size, o.Size-1)
	}
	return o, g, err
}

// attach finds the job's region, or makes it. Under a launcher it is there
// already; elsewhere whoever links it first has created it.
func attach(ctx context.Context, o *Options, g Geometry) (*region, error) {
	if !o.hosted {
		// What jobs left that were killed at one stroke while they joined, perhaps
		// one of this name: a launcher has done the same.
		_, _ = shm.Sweep()
	}
	for {
		f, err := shm.Attach(shm.Name(o.Job))
		switch {
		case err == nil:
			r, err := openRegion(f)
			if err != nil {
				_ = f.Close()
				return nil, err
			}
			if err := fits(o, g, r); err != nil {
				r.close()
				return nil, err
			}
			if err := r.mapWindows(); err != nil {
				if r.memfdPid != 0 && errors.Is(err, fs.ErrNotExist) {
					// With its creator the windows' memory went before it could be
					// handed on: nobody can join here any more.
					_ = r.file.Unlink()
					err = r.creatorDied()
				}
				r.close()
				return nil, err
			}
			o.log("attached to %s, created by process %d", r.file.Name(), r.creator)
			return r, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, foreign(err)
		case o.hosted:
			return nil, o.doubt(usage("job %s is not being started any more: it is over, or rank %d's place was taken", o.Job, o.Rank))
		}
		r, err := createRegion(o.Job, g)
		if errors.Is(err, fs.ErrExist) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.mapWindows(); err != nil {
			_ = r.file.Unlink()
			r.close()
			return nil, err
		}
		o.log("created %s: %d ranks, windows of %s, backing %v", r.file.Name(), r.Size, sizeText(r.Window), r.Backing)
		return r, nil
	}
}

// creatorDied is the error of a job whose creator took the windows' memory along
// when it died. It names the creator's rank, if that was told yet.
func (r *region) creatorDied() error {
	cause := fmt.Sprintf("process %d, which created job %s and had its windows' memory, died while joining; start the job again", r.memfdPid, r.job)
	for rank, b := range r.blocks {
		if b.who.told.Load() != 0 && b.who.pid == r.memfdPid {
			return &RankFailedError{Ranks: []int{rank}, Cause: cause}
		}
	}
	return fmt.Errorf("%w: %s", ErrRankFailed, cause)
}

// fits compares what this rank wants with what the creator made.
func fits(o *Options, g Geometry, r *region) error {
	if r.Size != o.Size {
		return fmt.Errorf("%w: this rank joins job %s with %d ranks, its creator (process %d) said %d", ErrMismatch,
			o.Job, o.Size, r.creator, r.Size)
	}
	if !o.hosted && r.Window != g.Window {
		return fmt.Errorf("%w: this rank joins job %s with a window of %s, its creator (process %d) said %s", ErrMismatch,
			o.Job, sizeText(g.Window), r.creator, sizeText(r.Window))
	}
	return nil
}

// enter claims the rank's place in an attached region and waits for the others.
func enter(ctx context.Context, o Options, r *region, start time.Time) (w *World, err error) {
	w = newWorld(o, r)
	if life := w.mine.lifeNow(); life != NotCome {
		return nil, taken(o, w.mine, life)
	}
	guard, err := startGuard(r, o.Rank, o.pidfd, func(failed []int) {
		w.abort(AbortRankFailed, failed, r.diedText(failed))
	})
	if errors.Is(err, errTaken) {
		return nil, taken(o, w.mine, w.mine.lifeNow())
	}
	if err != nil {
		return nil, err
	}
	w.guard = guard
	if guard.pidfd {
		o.log("robust futexes are refused here: deaths are noticed by pidfd, 100 ms + 40 ms for each GiB the dead had touched")
	}
	r.head.joined.Add(1)
	futex.Wake(joinedWord(r.head), 1<<30)
	failpoint.Hit(failpoint.JoinCounted)
	if err := w.awaitJoined(ctx, start); err != nil {
		_ = w.giveUpJoining()
		return nil, err
	}
	failpoint.Hit(failpoint.JoinUnlink)
	// The name is gone before any Join returns: from here on no death can
	// leave anything behind.
	if err := r.file.Unlink(); err != nil {
		_ = w.giveUpJoining()
		return nil, fmt.Errorf("removing the job's name: %w", err)
	}
	failpoint.Hit(failpoint.JoinUnlinked)
	w.place.Policy = w.policy()
	w.tellUnwatched()
	o.log("joined: %d ranks, windows of %s, backing %v, spinning %v", r.Size, sizeText(r.Window), r.Backing, w.place.Policy.Spin)
	return w, nil
}

// tellUnwatched tells, once, which ranks may die without anybody's noticing.
func (w *World) tellUnwatched() {
	var unwatched []int
	for r, b := range w.r.blocks {
		if b.who.watched != 0 && b.who.elsewhere() {
			unwatched = append(unwatched, r)
		}
	}
	if len(unwatched) > 0 {
		w.opts.Report(fmt.Sprintf("symwin: rank %d: should %s die, it shows as a time-out only (--stall): robust futexes are refused, and a process in another PID namespace cannot be watched; "+
			"give all ranks one PID namespace, or allow set_robust_list in the seccomp profile", w.rank, ranksText(unwatched)))
	}
}

func taken(o Options, b *block, life Life) error {
	switch life {
	case Dead:
		return &RankFailedError{Ranks: []int{o.Rank}, Cause: fmt.Sprintf("rank %d of job %s (process %d) died while joining; start the job again", o.Rank, o.Job, b.who.pid)}
	case Left:
		return o.doubt(usage("rank %d of job %s has joined and left already", o.Rank, o.Job))
	}
	return o.doubt(usage("rank %d of job %s has joined already (process %d): two processes with one rank, or two jobs with one name", o.Rank, o.Job, b.who.pid))
}

// doubt adds to an error which variables have led to it, and the way out if they
// are another job's.
func (o *Options) doubt(err error) error {
	if o.origin == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, o.origin)
}

// giveUpJoining leaves a region whose join failed: the name goes, so that a new
// job can have it, and so does the place.
func (w *World) giveUpJoining() error {
	err := w.r.file.Unlink()
	w.closed.Store(true)
	w.guard.close()
	return err
}

// awaitJoined waits until every rank has come. While ranks join there is no
// ring, so whoever waits looks at all liveness words himself.
func (w *World) awaitJoined(ctx context.Context, start time.Time) error {
	for {
		seen := w.r.head.joined.Load()
		var absent, dead []int
		for i, b := range w.r.blocks {
			switch life := b.lifeNow(); {
			case life == Dead:
				dead = append(dead, i)
			case life == NotCome, life == Alive && b.who.told.Load() == 0:
				absent = append(absent, i)
			}
		}
		if err := w.gone(); err != nil {
			return err
		}
		if len(absent) == 0 {
			return nil // who died after it came is the ring's affair
		}
		if len(dead) > 0 {
			w.abort(AbortRankFailed, dead, w.r.diedText(dead))
		}
		if err := w.abortError(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			err = fmt.Errorf("%w while waiting for %s of job %s to come", err, ranksText(absent), w.opts.Job)
			w.abort(kindOf(err), nil, err.Error())
			return err
		}
		if w.opts.JoinTimeout > 0 && time.Since(start) > w.opts.JoinTimeout {
			err := fmt.Errorf("%w: %s of job %s did not come within %v (SYMWIN_JOIN_TIMEOUT)", ErrTimeout, ranksText(absent), w.opts.Job, w.opts.JoinTimeout)
			w.abort(AbortTimeout, nil, err.Error())
			if w.opts.hosted { // shmrun has started them all; that they do not join is their affair
				return err
			}
			return w.opts.doubt(err)
		}
		futex.Wait(joinedWord(w.r.head), seen, joinStep)
	}
}

// joinStep bounds the time between two looks at who has come or died.
const joinStep = 5 * time.Millisecond

// policy decides whether this rank may spin: only while the ranks that may run
// on its CPUs, and on theirs, are not more than those CPUs. Every rank has told
// its CPUs before it claimed its place.
func (w *World) policy() shmsync.Policy {
	// More ranks than CPUs in all: no need to look at each.
	var all [16]uint64
	for _, b := range w.r.blocks {
		join(&all, &b.who.cpus)
	}
	if w.shared = w.Size() > count(&all); w.shared {
		return shmsync.Policy{}
	}
	for r := range w.r.blocks {
		w.shared = w.shared || w.r.crowded(r)
	}
	if w.r.crowded(w.rank) {
		return shmsync.Policy{}
	}
	return shmsync.Policy{Spin: shmsync.DefaultSpin, Pausing: topo.AMD() > 0}
}

// crowded reports whether rank shares its CPUs with more ranks than they are.
func (r *region) crowded(rank int) bool {
	mine := &r.blocks[rank].who.cpus
	union, rivals := *mine, 0
	for _, b := range r.blocks {
		for i, c := range b.who.cpus {
			if c&mine[i] != 0 {
				rivals++
				join(&union, &b.who.cpus)
				break
			}
		}
	}
	return rivals > count(&union)
}

func join(into, set *[16]uint64) {
	for i, c := range set {
		into[i] |= c
	}
}

func count(set *[16]uint64) (n int) {
	for _, c := range set {
		n += bits.OnesCount64(c)
	}
	return n
}
