package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/symwin/symwin"
)

// Of the memory of a rank one half lies in its window, where lines are received
// and sorted, and a quarter is the index of them. A round sends at most an eighth
// divided by the ranks, so that the most a rank can receive in one, which is all
// that all of them send, is a quarter of its window. What is read, what is sent and
// who gets it take as much each; one rank alone sends half as much, for their sake.
const (
	pieces       = 8
	leastPiece   = 1 << 10
	entryBytes   = 16
	bytesPerLine = 32 // of a round; where lines are shorter, the index fills before the window
)

// A job is one rank's side of sorting a file. All ranks call the same methods in
// the same order.
type job struct {
	team         *symwin.Team
	sorter       sorter
	piece, lines int
	in, out      *os.File
	created      string // OUT, if it was not there before
}

func newJob(ctx context.Context, w *symwin.World, memory int, temp string) (*job, error) {
	window, err := symwin.Alloc[byte](ctx, w, memory/2)
	if err != nil {
		return nil, err
	}
	piece := memory / pieces / max(w.Size(), 2)
	return &job{team: w.Team(), piece: piece, lines: max(piece/bytesPerLine, 1), sorter: sorter{
		memory: window.Local(), entries: make([]entry, 0, memory/4/entryBytes), temp: temp,
	}}, nil
}

// A Result is what was done.
type Result struct {
	Lines, Bytes, Runs int64
	Ranks              int
	Took               time.Duration
}

func (r Result) String() string {
	mb := float64(r.Bytes) / 1e6
	return fmt.Sprintf("%d lines, %.1f MB, in %.3f s with %d ranks: %.0f MB/s, %d runs spilled",
		r.Lines, mb, r.Took.Seconds(), r.Ranks, mb/r.Took.Seconds(), r.Runs)
}

// sort sorts the lines of the file in into the file out. What goes wrong with
// files on any rank is the same *failure on all.
func (j *job) sort(ctx context.Context, in, out string) (res Result, err error) {
	begin := time.Now()
	size, err := j.open(ctx, in, out)
	if err != nil {
		return res, err
	}
	bytes, lines, err := j.distribute(ctx, io.NewSectionReader(j.in, 0, size), in)
	if err != nil {
		return res, err
	}
	runs := int64(len(j.sorter.runs))
	// Behind this exchange no rank reads IN any more, which OUT may be.
	n := j.team.Size()
	all := make([]int64, n)
	if err := symwin.AllGather(ctx, j.team, all, []int64{bytes}); err != nil {
		return res, err
	}
	var at, total int64
	for r, b := range all {
		if r < j.team.Rank() {
			at += b
		}
		total += b
	}
	if err := j.write(ctx, at, total); err != nil {
		return res, err
	}
	sums := []int64{lines, bytes, runs}
	if err := symwin.AllReduce(ctx, j.team, sums, sums, symwin.Sum); err != nil {
		return res, err
	}
	return Result{Lines: sums[0], Bytes: sums[1], Runs: sums[2], Ranks: n, Took: time.Since(begin)}, nil
}

// open opens both files on all ranks, rank 0 before the others: it makes OUT if
// it is not there. It returns how long IN is for all of them.
func (j *job) open(ctx context.Context, in, out string) (int64, error) {
	var size int64
	open := func() (err error) {
		if j.in, size, err = openRegular(in, os.O_RDONLY); err != nil {
			return err
		}
		if j.team.Rank() == 0 {
			if f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); err == nil {
				f.Close()
				j.created = out
			} else if !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		return nil
	}
	if _, err := agree(ctx, j.team, idle, failed(2, open())); err != nil {
		return 0, err
	}
	var err error
	j.out, _, err = openRegular(out, os.O_WRONLY)
	if _, err := agree(ctx, j.team, idle, failed(2, err)); err != nil {
		return 0, err
	}
	agreed := []int64{size}
	err = symwin.Broadcast(ctx, j.team, agreed, 0)
	return agreed[0], err
}

// openRegular opens a file that has a size and places: shares of it are read and
// written by several ranks at once.
func openRegular(name string, flag int) (*os.File, int64, error) {
	info, err := os.Stat(name) // before it is opened: a pipe would wait for its other end
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: is no regular file, and parts of it are read and written at several places at once", name)
	}
	f, err := os.OpenFile(name, flag, 0)
	return f, info.Size(), err
}

// distribute deals the lines of the file, and sorts what comes here into runs. It
// returns the bytes and lines that are this rank's.
func (j *job) distribute(ctx context.Context, file *io.SectionReader, name string) (bytes, lines int64, err error) {
	share := shareOf(file, name, j.team.Rank(), j.team.Size(), make([]byte, j.piece))
	sample, err := share.sample()
	if err == nil {
		err = share.open()
	}
	if _, err := agree(ctx, j.team, idle, failed(1, err)); err != nil {
		return 0, 0, err
	}
	to, err := newSplitters(ctx, j.team, sample)
	if err != nil {
		return 0, 0, err
	}
	d := newDealer(j.team, to, j.piece, j.lines)
	for {
		err := d.take(share)
		all, failure := agree(ctx, j.team, j.state(d), failed(1, err))
		if failure != nil || all&work == 0 {
			return bytes, lines, failure
		}
		if all&full != 0 {
			// All spill when one has to: they sort at the same time, and do not
			// wait for one another in turn.
			if _, err := agree(ctx, j.team, idle, failed(1, j.sorter.spillRun())); err != nil {
				return 0, 0, err
			}
		}
		come, err := d.deal(ctx, j.room())
		if err != nil {
			return 0, 0, err
		}
		before := len(j.sorter.entries)
		j.sorter.take(come)
		bytes += int64(come)
		lines += int64(len(j.sorter.entries) - before)
	}
}

func (j *job) state(d *dealer) (s state) {
	if len(d.hands) > 0 {
		s |= work
	}
	if j.room() == nil {
		s |= full
	}
	return s
}

// room is where a round can be received, whatever it brings.
func (j *job) room() []byte { return j.sorter.room(j.team.Size()*j.piece, j.team.Size()*j.lines) }

// write writes this rank's lines to their place in OUT.
func (j *job) write(ctx context.Context, at, total int64) error {
	out := bufio.NewWriterSize(&offset{j.out, at}, writeBytes)
	err := j.sorter.finish(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil && j.team.Rank() == 0 {
		err = j.out.Truncate(total) // it cuts nothing off that is written beside it
	}
	if err == nil {
		err = j.out.Close() // some file systems tell only here that they are full
		j.out = nil
	}
	if _, err := agree(ctx, j.team, idle, failed(1, err)); err != nil {
		return err
	}
	j.created = ""
	return nil
}

// close closes what is open, and removes OUT if the job made it and failed.
func (j *job) close() {
	j.sorter.close()
	if j.in != nil {
		j.in.Close()
	}
	if j.out != nil {
		j.out.Close()
	}
	if j.created != "" {
		os.Remove(j.created)
	}
}
