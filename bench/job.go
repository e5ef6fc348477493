package bench

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/launch"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

// job is what is to be measured: a request that was found possible.
type job struct {
	config
	*request
	op      *op
	sizes   []int64
	options launch.Options // completed by what the operation needs
	shm     int64          // bytes that all windows may take together; -1: as many as there is memory
}

// trial is one row that is to be measured.
type trial struct {
	row   Row // as far as it is known before
	task  task
	quick bool // one of very many: one short repetition
}

// defaultReps is how often a row is measured: what happens to the machine once
// in a while then hits one of several.
const defaultReps = 5

// job makes of a request what is measured, or says what is wrong with it.
func (q *request) job() (*job, error) {
	j := &job{request: q, options: *q.launch}
	switch len(q.words) {
	case 0:
		return nil, fmt.Errorf("no operation to measure; there are %s", list(opNames()))
	case 1:
	default:
		return nil, fmt.Errorf("one operation at a time: %q after %q", q.words[1], q.words[0])
	}
	var err error
	if j.op, err = findOp(q.words[0]); err != nil {
		return nil, err
	}
	if q.low != 0 && q.high != 0 && q.low > q.high {
		return nil, fmt.Errorf("--min %s is more than --max %s", env.FormatSize(q.low), env.FormatSize(q.high))
	}
	if err := j.place(); err != nil {
		return nil, err
	}
	if err := j.allows(); err != nil {
		return nil, err
	}
	return j, j.sweep()
}

// place decides how many ranks there are and where.
func (j *job) place() error {
	machine, err := topo.Here()
	if err != nil {
		return err
	}
	for _, c := range machine {
		j.CPUs = append(j.CPUs, c.ID)
	}
	slices.Sort(j.CPUs)
	if j.Ranks = j.options.N; j.Ranks == 0 {
		j.Ranks = max(len(j.CPUs), j.op.least)
		switch {
		case j.op.few:
			j.Ranks = j.op.least
		case j.op == wait:
			j.Ranks = slices.Max(perCPU) * len(j.CPUs)
		}
	}
	if j.op == limits || j.op == wait {
		j.options.BindTo = topo.None // they bind themselves
	}
	j.options.N = j.Ranks
	j.Plan = machine.Plan(cmp.Or(j.options.BindTo, topo.Share), j.Ranks)
	if j.Window = j.options.Window; j.Window == 0 {
		if j.Window, err = env.Size(env.Get(env.KeyWindow)); err != nil {
			return fmt.Errorf("%s: %w", env.KeyWindow, err)
		}
	}
	j.shm = -1
	if j.options.Backing == symmem.BackingShm { // otherwise the region goes where there is room
		j.shm, err = shm.Free()
	}
	return err
}

// allows says what is wrong with everything but sizes.
func (j *job) allows() error {
	o := j.op
	w, err := o.way(j.engine)
	switch {
	case err != nil:
		return err
	case j.Ranks < o.least:
		return fmt.Errorf("%s needs at least %d ranks, not %d", o.name, o.least, j.Ranks)
	case o.pairs && j.Ranks%2 != 0:
		return fmt.Errorf("%s is between pairs of ranks: their number must be even, not %d", o.name, j.Ranks)
	case j.touch != touchNone && o.total == nil:
		return fmt.Errorf("%s moves no data that a program could touch; leave out --touch", o.name)
	case j.inPlace && !w.inPlace:
		return fmt.Errorf("%s by %s cannot be done in place; leave out --inplace", o.name, j.engine)
	case j.dst == dstPrivate && j.wherein() == "":
		return fmt.Errorf("%s has no choice of where its data arrives; leave out --dst", o.name)
	case j.tails && o.own != nil:
		return fmt.Errorf("%s times single operations already; leave out --tails", o.name)
	case o.high == 0 && j.low+j.high+j.factor != 0:
		return fmt.Errorf("%s has no sizes; leave out --min, --max and --factor", o.name)
	case len(j.peers) > 0 && o.trials != nil:
		return fmt.Errorf("%s is about this machine alone; leave out --peer", o.name)
	}
	return nil
}

// sweep decides on the sizes. A bound that was not given makes room for the
// other.
func (j *job) sweep() error {
	o, low, high := j.op, j.low, j.high
	if o.high == 0 {
		return nil
	}
	if high == 0 {
		high = max(o.high, low)
	}
	if low == 0 {
		low = min(o.low, high)
	}
	j.sizes = sizes(low, high, cmp.Or(j.factor, o.factor, 2))
	// What nobody asked for is left out where it cannot be.
	for last := len(j.sizes) - 1; j.high == 0 && last > 0 && o.carries(j, j.task(j.sizes[last])) != nil; last-- {
		j.sizes = j.sizes[:last]
	}
	// The largest is what people want to hear of first.
	for _, bytes := range slices.Backward(j.sizes) {
		if err := o.carries(j, j.task(bytes)); err != nil {
			return err
		}
	}
	return nil
}

// task is the operation at one size.
func (j *job) task(bytes int64) task {
	return task{
		Op: j.op.name, Engine: j.engine, Bytes: bytes,
		Touch: j.touch, Dst: j.dst, InPlace: j.inPlace, Check: j.check, Warmup: j.warmup,
	}
}

// trials are the rows.
func (j *job) trials() (rows []trial) {
	if j.op.trials != nil {
		return j.op.trials(j)
	}
	of := j.sizes
	if len(of) == 0 {
		of = []int64{0}
	}
	for _, bytes := range of {
		rows = append(rows, trial{
			row:  Row{Op: j.op.name, Engine: j.engine, Ranks: j.Ranks, Bytes: bytes},
			task: j.task(bytes),
		})
	}
	return rows
}

// shortest is the shortest block of a row.
func (j *job) shortest(t trial) time.Duration {
	return blockFor(cmp.Or(t.task.Ranks, j.Ranks), len(j.CPUs))
}

// blocks says what times are over.
func (j *job) blocks() string {
	if j.op.own != nil {
		return "starts"
	}
	all := map[time.Duration]bool{}
	for _, t := range j.trials() {
		all[j.shortest(t)] = true
	}
	if len(all) > 1 {
		return fmt.Sprintf("blocks of at least %v, or %v where ranks share CPUs", minBlock, sharedBlock)
	}
	for shortest := range all {
		return fmt.Sprintf("blocks of at least %v", shortest)
	}
	return "blocks"
}

// shared says whether ranks share CPUs.
func (j *job) shared() bool { return j.Ranks > len(j.CPUs) }

// binding says which CPUs the ranks have, in a line of bounded length.
func (j *job) binding() string {
	const most = 8
	switch {
	case j.op == limits || j.op == wait:
		return "bound to one CPU each by what is measured"
	case j.op.own != nil:
		return "as the launcher binds them"
	case j.Plan == nil && j.shared():
		return fmt.Sprintf("not bound, on CPUs %s", topo.FormatList(j.CPUs))
	case j.Plan == nil:
		return "not bound"
	}
	text := "bound to CPUs "
	for r, cpus := range j.Plan {
		if r == most {
			return text + " | …"
		}
		if r > 0 {
			text += " | "
		}
		text += topo.FormatList(cpus)
	}
	return text
}
