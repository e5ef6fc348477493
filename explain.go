package symwin

import (
	"fmt"
	"strings"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/symmem"
)

// Choice is how a collective will travel, and why.
type Choice struct {
	Op     string // "alltoall"
	Ranks  int    // of the team
	Bytes  int    // of one rank's part; of broadcast, reduce and allreduce of the vector
	Engine string // "ll64", "ce" or "bcopy", as call records and "shmrun ps" show it
	Steps  int    // calls that it takes: 2 where each rank does its share of a long vector
	Why    string
}

// String is the choice in one line.
func (c Choice) String() string {
	return fmt.Sprintf("%s of %d bytes among %d: %s; %s", c.Op, c.Bytes, c.Ranks, c.Engine, c.Why)
}

// Explain tells which engine carries an operation of so many bytes on team, and
// why: tagged lines, where data and flag arrive in one cache miss (ll64, package
// lla2a), or copies between flags (ce, package ce; bcopy if all of them go through
// the staging ring, which SYMWIN_ALGO can ask for). op is its name in small
// letters ("allreduce"). bytes are those of one rank's part; of broadcast, reduce
// and allreduce, which have no parts, of the vector; of alltoallv and allgatherv
// of the largest part.
//
// The choice rests on operation, team size, bytes, a table of measured crossovers
// and SYMWIN_ALGO ("alltoall:ce,allgather:16K"), which are the same on all ranks:
// Join compares them. It is local and may be called at any time. Error: ErrUsage
// for what is no such operation, or fewer bytes than none.
func Explain(team *Team, op string, bytes int) (Choice, error) {
	p, err := planFor(team)
	if err != nil {
		return Choice{}, fmt.Errorf("explain: %w", err)
	}
	of, known := opNamed(op)
	switch {
	case bytes < 0:
		return Choice{}, fmt.Errorf("explain: %w: %d bytes", ErrUsage, bytes)
	case op == symmem.OpAllToAllv.String():
		call := symmem.Record{}
		p.engine(&call, symmem.OpAllToAll)
		return Choice{Op: op, Ranks: team.Size(), Bytes: bytes, Engine: call.Engine.String(), Steps: 2,
			Why: "the counts go first, through lines; the data, of lengths that nobody knows before, is copied"}, nil
	case op == symmem.OpAllGatherv.String():
		return explainAllGatherv(team, p, bytes), nil
	case !known:
		return Choice{}, fmt.Errorf("explain: %w: no operation %q; there are %s, alltoallv, allgatherv", ErrUsage, op, strings.Join(opNames(), ", "))
	}
	call := symmem.Record{Op: of}
	r := p.of[call.Op]
	c := Choice{Op: op, Ranks: team.Size(), Bytes: bytes, Steps: 1}
	lines := p.lines(&call, bytes)
	c.Engine = call.Engine.String()
	rule := "the measured crossover"
	if p.forced[call.Op] {
		rule = env.KeyAlgo + "=" + env.Get(env.KeyAlgo)
	}
	switch {
	case lines:
		c.Why = fmt.Sprintf("up to %d bytes go through tagged lines, by %s", r.lines, rule)
	case r.staged:
		c.Why = "all of it is copied, through the staging ring, by " + rule
	case r.lines < 0:
		c.Why = "all of it is copied, by " + rule
	default:
		c.Why = fmt.Sprintf("more than %d bytes are copied, by %s", r.lines, rule)
	}
	if !lines && !r.staged {
		c.Why += unread(team)
	}
	if !lines && bytes > r.direct {
		c.Steps = 2
		c.Why += fmt.Sprintf("; more than %d in two steps, of which each rank does its share", r.direct)
	}
	return c, nil
}

// explainAllGatherv is about parts of which the largest has so many bytes.
func explainAllGatherv(team *Team, p *plan, bytes int) Choice {
	call := symmem.Record{Op: symmem.OpAllGather}
	c := Choice{Op: symmem.OpAllGatherv.String(), Ranks: team.Size(), Bytes: bytes, Steps: 2}
	lines := p.lines(&call, bytes)
	c.Engine = call.Engine.String()
	switch {
	case bytes <= countsBytes-16:
		c.Engine, c.Steps = symmem.EngineLL64.String(), 1
		c.Why = fmt.Sprintf("up to %d bytes go with the counts, through tagged lines", countsBytes-16)
	case lines:
		c.Why = fmt.Sprintf("the counts go first; then all know that no part has more than %d bytes, which go through tagged lines as those of allgather", p.of[call.Op].lines)
	default:
		c.Why = "the counts go first, through lines; the data is copied, as that of allgather"
	}
	return c
}

// unread says it where private memory of this team takes two copies, because the
// kernel does not let this rank read it.
func unread(team *Team) string {
	if e, _ := team.Attached().Load().(*engines); e != nil && e.ready.Load() {
		if why := e.stream.Unreached(); why != "" {
			return "; private memory in two, since the kernel does not read it: " + why
		}
	}
	return ""
}
