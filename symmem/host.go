package symmem

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/shm"
)

// Host is a launcher's hold on the region of its job: it creates the region
// before it starts a rank, so it can abort at any time and read the last words
// of the dead. It is no rank. All its methods may be called concurrently.
type Host struct {
	mu      sync.Mutex
	r       *region
	settled bool
}

// NewHost creates the region of a job. The name, in the directory of shared
// memory, stands until all ranks have joined or the job is given up (Settle,
// Close).
//
// Errors: ErrUsage for a bad geometry or job name, ErrNoSpace, and
// fs.ErrExist if a job of this name is being started at the moment.
func NewHost(job string, g Geometry) (*Host, error) {
	if err := checkJob(job); err != nil {
		return nil, err
	}
	r, err := createRegion(job, g)
	if err != nil {
		return nil, err
	}
	return &Host{r: r}, nil
}

// Geometry is the region's, as it was really made: rounded, and auto resolved.
func (h *Host) Geometry() Geometry { return h.r.Geometry }

// Job is the job's name.
func (h *Host) Job() string { return h.r.job }

// Env is what rank must find in its environment to join, as "NAME=VALUE".
func (h *Host) Env(rank int) []string {
	return []string{
		env.KeyJob + "=" + h.r.job,
		env.KeyRank + "=" + strconv.Itoa(rank),
		env.KeySize + "=" + strconv.Itoa(h.r.Size),
		hostedVar + "=1",
	}
}

// hostedVar tells a rank that a launcher has created the region: no name means
// that the job is over, not that this rank is the first.
const hostedVar = env.KeyHosted

// Abort ends the job for all ranks: their waits return ErrAborted with text, of
// which 240 bytes cross. The first cause wins.
func (h *Host) Abort(text string) {
	_ = h.with(func() { h.r.abort(-1, AbortProgram, nil, text) })
}

// Lost ends the job because the launcher saw a rank end badly; how says in which
// way ("killed by SIGKILL"). Survivors get ErrRankFailed. Where a rank has said
// so before, its cause stands.
func (h *Host) Lost(rank int, how string) {
	if rank >= 0 && rank < h.r.Size {
		_ = h.with(func() { h.r.abort(-1, AbortRankFailed, []int{rank}, how) })
	}
}

// Life is what the liveness word of one rank says now. Unlike Observe it costs
// one load, so a launcher may ask whenever a rank ends.
func (h *Host) Life(rank int) (life Life) {
	if rank >= 0 && rank < h.r.Size {
		_ = h.with(func() { life = h.r.blocks[rank].lifeNow() })
	}
	return life
}

// Observe reads what all ranks are doing.
// If the region's memory is gone, the snapshot's Abort says so.
func (h *Host) Observe() Snapshot {
	s := Snapshot{Job: h.r.job, Geometry: h.r.Geometry, Ranks: make([]RankState, h.r.Size)}
	for i := range s.Ranks {
		s.Ranks[i].Rank = i
	}
	if err := h.with(func() { s = h.r.observe() }); err != nil {
		s.Abort = &AbortInfo{Author: -1, Kind: AbortRegion, Text: err.Error()}
	}
	return s
}

// with runs f on the region, if the host has not been closed. An error says that
// its memory is gone.
func (h *Host) with(f func()) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.r.head == nil {
		return nil
	}
	f()
	return h.r.gone()
}

// Settle takes the region's name away once every rank has come (or, forced, at
// once: the job is given up), and reports whether it is gone. Ranks do the same
// in Join; the launcher makes sure.
func (h *Host) Settle(force bool) (bool, error) {
	if !force {
		all := true
		err := h.with(func() {
			for _, b := range h.r.blocks {
				all = all && b.lifeNow() != NotCome
			}
		})
		if err != nil || !all {
			return false, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.settled || h.r.head == nil {
		return true, nil
	}
	if err := h.r.file.Unlink(); err != nil {
		return false, fmt.Errorf("removing %s: %w", h.r.file.Name(), err)
	}
	h.settled = true
	return true, nil
}

// Close gives the job up: the name goes, and so does the launcher's hold. Ranks
// that live keep theirs.
func (h *Host) Close() error {
	_, err := h.Settle(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.r.close()
	return err
}

// Sweep removes what jobs left in the directory of shared memory that were
// killed, all at once, while joining. It touches nothing that any process holds.
// It returns the jobs' names.
func Sweep() ([]string, error) {
	names, err := shm.Sweep()
	for i, n := range names {
		if p := strings.SplitN(n, "-", 3); len(p) == 3 {
			names[i] = p[2]
		}
	}
	return names, err
}

// Found is a live region: one of the processes that hold it, to be given to
// Observe.
type Found struct{ Pid, Fd int }

// Regions finds the live regions of this user through the descriptors of its
// processes, one entry each.
func Regions() ([]Found, error) {
	all, err := shm.FindOpen()
	out := make([]Found, len(all))
	for i, f := range all {
		out[i] = Found{Pid: f.Pid, Fd: f.Fd}
	}
	return out, err
}
