package symmem

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/symwin/symwin/internal/shm"
)

// Life is what the liveness word of a rank says.
type Life uint8

// The lives.
const (
	NotCome Life = iota // has not joined
	Alive
	Dead // its guard's thread ended without Close
	Left // it closed its world
)

var lifeNames = []string{"not come", "alive", "dead", "left"}

func (l Life) String() string { return lifeNames[l] }

// MarshalText writes the life into JSON.
func (l Life) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Snapshot is a region as somebody from outside saw it. The ranks go on while
// it is taken: each record is whole, but they are not of one instant.
type Snapshot struct {
	Job  string `json:"job"`
	Name string `json:"name"` // file name, also after it was unlinked
	Geometry
	Linked bool        `json:"linked"`          // the name still stands: the job is being joined
	Abort  *AbortInfo  `json:"abort,omitempty"` // why the job ended, once it did
	Ranks  []RankState `json:"ranks"`

	// Revocations are the teams that a member gave up; each is older than
	// Abort, after which no team is given up any more.
	Revocations []Revocation `json:"revocations,omitempty"`
}

// Revocation is why a team ended for its members.
type Revocation struct {
	Team int `json:"team"` // its number
	AbortInfo
}

// RankState is one rank's control block.
type RankState struct {
	Rank    int         `json:"rank"`
	Pid     int         `json:"pid"` // 0 before it came
	Life    Life        `json:"life"`
	Process string      `json:"process,omitempty"` // "stopped", or "traced": held by a debugger
	Call    Record      `json:"call"`              // the latest call in any lane
	Waits   []WaitState `json:"waits,omitempty"`   // what its goroutines wait for, if they have left the spin
	Records []Record    `json:"records,omitempty"` // the last, by lane, oldest first
}

// WaitState is one wait that has left its spin.
type WaitState struct {
	Call    Record        `json:"call"`
	Missing []int         `json:"missing"`  // world ranks
	Since   time.Duration `json:"since_ns"` // how long it lasts by now
}

// Observe reads the region behind descriptor fd of process pid, without being a
// rank and without writing to it. Both come from shm.FindOpen. Errors: ErrRegion,
// or why the descriptor cannot be opened.
func Observe(pid, fd int) (Snapshot, error) {
	f, err := shm.AttachPid(pid, fd)
	if err != nil {
		return Snapshot{}, fmt.Errorf("descriptor %d of process %d: %w", fd, pid, err)
	}
	r, err := openRegion(f)
	if err != nil {
		_ = f.Close()
		return Snapshot{}, err
	}
	defer r.close()
	s := r.observe()
	if err := r.gone(); err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

func (r *region) observe() Snapshot {
	s := Snapshot{Job: r.job, Name: shm.Name(r.job), Geometry: r.Geometry}
	if r.file != nil {
		s.Linked, _ = r.file.Linked()
	}
	if a, ok := r.aborted(); ok {
		s.Abort = &a
	}
	for i, b := range r.blocks {
		s.Ranks = append(s.Ranks, b.observe(i, r.Size))
	}
	s.Revocations = r.revocations(s.Ranks)
	return s
}

// revocations looks at the teams on which any rank has made a call: to look at
// all would take memory for every place that nobody has used.
func (r *region) revocations(ranks []RankState) (out []Revocation) {
	var used [maxTeams]bool
	for _, st := range ranks {
		for _, rec := range st.Records {
			used[rec.Team%maxTeams] = true
		}
	}
	for team := range used {
		if !used[team] {
			continue
		}
		for _, b := range r.blocks { // one of them is the team's rank 0
			// The acquire makes the author's account readable.
			author := int(b.teams[team].revoked.Load()&revokedMask) - 1
			if author < 0 || author >= r.Size {
				continue
			}
			p := &r.blocks[author].teams[team]
			out = append(out, Revocation{team, AbortInfo{Author: author, Kind: AbortKind(p.kind),
				Text: string(p.text[:min(p.length, maxTeamText)])}})
		}
	}
	return out
}

func (b *block) observe(rank, size int) RankState {
	st := RankState{Rank: rank, Life: b.lifeNow()}
	if st.Life != NotCome {
		st.Pid = int(b.who.pid)
	}
	if st.Life == Alive {
		st.Process = processState(st.Pid)
	}
	st.Records = b.records()
	st.Call = b.lastCall()
	for i := range b.waits {
		if w, ok := b.waits[i].read(size); ok {
			st.Waits = append(st.Waits, w)
		}
	}
	return st
}

// records reads the ring and the briefs, lane by lane, oldest first.
func (b *block) records() []Record {
	var all []Record
	for i := range b.ring {
		if rec, ok := loadRecord(&b.ring[i]); ok {
			all = append(all, rec)
		}
	}
	full := all
	for i := range b.briefs {
		rec := b.briefs[i].load()
		same := func(f Record) bool { return f.Team == rec.Team && f.Lane == 0 && f.Sequence == rec.Sequence }
		if rec.Sequence > 0 && !slices.ContainsFunc(full, same) {
			all = append(all, rec)
		}
	}
	slices.SortFunc(all, func(x, y Record) int {
		return cmp.Or(cmp.Compare(x.Team, y.Team), cmp.Compare(x.Lane, y.Lane), cmp.Compare(x.Sequence, y.Sequence))
	})
	return all
}

// lastCall is the latest call in any lane.
func (b *block) lastCall() Record {
	latest := atomic.LoadUint32(&b.who.latest)
	if latest >= ringRecords {
		return b.briefs[latest%ringRecords].load()
	}
	rec, _ := loadRecord(&b.ring[latest])
	return rec
}

// fromRing looks for the call with this lane and sequence.
func (b *block) fromRing(team, lane int, sequence uint64) (Record, bool) {
	for i := range b.ring {
		rec, ok := loadRecord(&b.ring[i])
		if ok && rec.Team == team && rec.Lane == lane && rec.Sequence == sequence {
			return rec, true
		}
	}
	return Record{}, false
}
