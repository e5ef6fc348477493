package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/internal/topo"
)

// inFlight is how many messages of bw are answered by one.
const inFlight = 64

// RankMain is a rank of the peers "unix" and "pipe": this program's hidden command
// RankCommand, of which args are the rest. It returns the exit code. It ends when
// its standard input does.
func RankMain(_ context.Context, args []string) int {
	r, err := newStreamRank(args)
	if err == nil {
		err = r.follow(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "rank of a peer: %v\n", err)
		return 1
	}
	return 0
}

// streamRank is one rank.
type streamRank struct {
	op          string
	rank, ranks int
	touch       string
	check       bool
	fault       bool // damage one byte, once

	wires   []wire // by rank; this one's is empty
	out, in []byte
	bytes   int
	turn    uint64
	sent    chan error
}

// wire is the connection to one other rank.
type wire struct{ r, w *os.File }

func newStreamRank(args []string) (*streamRank, error) {
	if len(args) != 8 {
		return nil, errors.New("it is started by \"shmrun bench --peer\"")
	}
	r := &streamRank{op: args[1], touch: args[4], check: args[5] == "on", sent: make(chan error)}
	var faulty int
	for _, number := range []struct {
		to   *int
		text string
	}{{&r.rank, args[2]}, {&r.ranks, args[3]}, {&faulty, args[7]}} {
		var err error
		if *number.to, err = strconv.Atoi(number.text); err != nil {
			return nil, err
		}
	}
	r.fault = faulty == r.rank
	if cpus, err := topo.Usable(); args[6] != "any" && (err != nil || topo.FormatList(cpus) != args[6]) {
		return nil, fmt.Errorf("bound to CPUs %s instead of %s", topo.FormatList(cpus), args[6])
	}
	// The second one is for the goroutine that writes while this one is in the
	// kernel to read; the runtime would leave it waiting for tens of microseconds.
	runtime.GOMAXPROCS(2)
	runtime.LockOSThread()
	r.wires = make([]wire, r.ranks)
	fd := uintptr(3)
	next := func() *os.File {
		f := os.NewFile(fd, "wire")
		fd++
		return f
	}
	for other := range r.ranks {
		switch {
		case other == r.rank:
		case args[0] == "unix":
			both := next()
			r.wires[other] = wire{both, both}
		default:
			r.wires[other] = wire{r: next(), w: next()}
		}
	}
	return r, nil
}

// follow does what its input says: "run BYTES BLOCKS OPS TURN" is answered by
// "ran WRONG NS…".
func (r *streamRank) follow(commands io.Reader, answers io.Writer) error {
	fmt.Fprintln(answers, "ready")
	for lines := bufio.NewScanner(commands); lines.Scan(); {
		var blocks, ops int
		var turn uint64
		if _, err := fmt.Sscanf(lines.Text(), "run %d %d %d %d", &r.bytes, &blocks, &ops, &turn); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		times, wrong, err := r.run(blocks, ops, turn)
		if err != nil {
			return err
		}
		answer := []byte("ran " + strconv.Itoa(wrong))
		for _, t := range times {
			answer = strconv.AppendInt(append(answer, ' '), int64(t), 10)
		}
		if _, err := answers.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (r *streamRank) run(blocks, ops int, turn uint64) (times []time.Duration, wrong int, err error) {
	// Room for the turns of operations that renew their data.
	r.turn = turn << 32
	slots := r.slots()
	if len(r.out) != slots*r.bytes {
		r.out, r.in = make([]byte, slots*r.bytes), make([]byte, slots*r.bytes)
	}
	for s := range slots {
		r.fill(s)
	}
	op := map[string]func() error{"latency": r.latency, "bw": r.bw, "alltoall": r.allToAll}[r.op]
	if op == nil {
		return nil, 0, fmt.Errorf("no operation %q", r.op)
	}
	if err := op(); err != nil {
		return nil, 0, err
	}
	times = make([]time.Duration, 0, blocks)
	begin := time.Now()
	for range blocks {
		for range ops {
			if err := op(); err != nil {
				return nil, 0, err
			}
		}
		end := time.Now()
		times = append(times, end.Sub(begin))
		begin = end
	}
	if r.fault {
		r.in[0] ^= 1
		r.fault = false
	}
	if r.check && (r.op != "bw" || r.rank%2 == 1) {
		for s := range slots {
			wrong += r.incoming(s).wrong(r.slot(r.in, s))
		}
	}
	return times, wrong, nil
}

// slots is how many messages a rank has room for. Those of bw share one where
// nobody looks at them, as in OSU's programs.
func (r *streamRank) slots() int {
	switch {
	case r.op == "alltoall":
		return r.ranks
	case r.op == "bw" && r.touch != "none":
		return inFlight
	}
	return 1
}

func (r *streamRank) slot(b []byte, s int) []byte { return b[s*r.bytes:][:r.bytes] }

func (r *streamRank) outgoing(slot int) stream {
	if r.op == "alltoall" {
		return stream{turn: r.turn, from: r.rank, to: slot, quick: r.touch == "full"}
	}
	return stream{turn: r.turn, from: r.rank, to: r.rank ^ 1, slot: slot, quick: r.touch == "full"}
}

func (r *streamRank) incoming(slot int) stream {
	if r.op == "alltoall" {
		return stream{turn: r.turn, from: slot, to: r.rank, quick: r.touch == "full"}
	}
	return stream{turn: r.turn, from: r.rank ^ 1, to: r.rank, slot: slot, quick: r.touch == "full"}
}

func (r *streamRank) fill(slot int) { r.outgoing(slot).fill(r.slot(r.out, slot)) }

// renew begins an operation whose senders renew what they send.
func (r *streamRank) renew() (full bool) {
	if r.touch != "full" {
		return false
	}
	r.turn++
	return true
}

// write sends a slot, renewed if that is asked for.
func (r *streamRank) write(other, slot int, full bool) error {
	if full {
		r.fill(slot)
	}
	_, err := r.wires[other].w.Write(r.slot(r.out, slot))
	return err
}

func (r *streamRank) read(other, slot int) error {
	b := r.slot(r.in, slot)
	if _, err := io.ReadFull(r.wires[other].r, b); err != nil {
		return err
	}
	if r.touch != "none" {
		line.Read(b)
	}
	return nil
}

func (r *streamRank) latency() error {
	other, full := r.rank^1, r.renew()
	if r.rank%2 == 0 {
		return errors.Join(r.write(other, 0, full), r.read(other, 0))
	}
	return errors.Join(r.read(other, 0), r.write(other, 0, full))
}

func (r *streamRank) bw() error {
	other, full := r.rank^1, r.renew()
	var answer [1]byte
	for k := range inFlight {
		var err error
		if r.rank%2 == 0 {
			err = r.write(other, k%r.slots(), full)
		} else {
			err = r.read(other, k%r.slots())
		}
		if err != nil {
			return err
		}
	}
	if r.rank%2 == 0 {
		_, err := io.ReadFull(r.wires[other].r, answer[:])
		return err
	}
	_, err := r.wires[other].w.Write(answer[:])
	return err
}

// unblocked is how many bytes a rank may write before it reads: two operations'
// worth must fit into a pipe, of 64 KiB, because a neighbour may be one ahead.
const unblocked = 32 << 10

func (r *streamRank) allToAll() error {
	full := r.renew()
	if full {
		r.fill(r.rank)
	}
	copy(r.slot(r.in, r.rank), r.slot(r.out, r.rank))
	if r.touch != "none" {
		line.Read(r.slot(r.in, r.rank))
	}
	var err error
	if r.bytes <= unblocked {
		err = r.writeAll(full)
	} else {
		go func() { r.sent <- r.writeAll(full) }()
	}
	for k := 1; k < r.ranks && err == nil; k++ {
		other := (r.rank - k + r.ranks) % r.ranks
		err = r.read(other, other)
	}
	if r.bytes > unblocked {
		err = errors.Join(err, <-r.sent)
	}
	return err
}

func (r *streamRank) writeAll(full bool) error {
	for k := 1; k < r.ranks; k++ {
		other := (r.rank + k) % r.ranks
		if err := r.write(other, other, full); err != nil {
			return err
		}
	}
	return nil
}
