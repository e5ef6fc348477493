package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"slices"
)

// An entry is a line in the memory of a run.
type entry struct {
	head   uint64 // its first 8 bytes, which decide most comparisons
	at, nl uint32 // where it begins, and where its end is
}

func head(line []byte) uint64 {
	if len(line) >= 8 {
		return binary.BigEndian.Uint64(line)
	}
	var b [8]byte
	copy(b[:], line)
	return binary.BigEndian.Uint64(b[:])
}

// A sorter takes lines where they were received, sorts them there, and spills
// them as a run when there is no room for another round.
type sorter struct {
	memory  []byte // in the window: the other ranks write here
	used    int
	entries []entry
	longest int // of all lines, with its end

	temp  string
	spill *os.File // has lost its name already: whatever happens, nothing is left
	end   int64
	runs  []spilled
}

// Spilled is a run: a sorted stretch of the spill file.
type spilled struct{ at, end int64 }

// room is where the next round is received, or nil if a run has to be spilled
// before: a round brings so many bytes and lines at most.
func (s *sorter) room(bytes, lines int) []byte {
	if s.used+bytes > len(s.memory) || len(s.entries)+lines > cap(s.entries) {
		return nil
	}
	return s.memory[s.used:][:bytes]
}

// take enters the lines of n more bytes.
func (s *sorter) take(n int) {
	for end := s.used + n; s.used < end; {
		length := bytes.IndexByte(s.memory[s.used:end], '\n')
		line := s.memory[s.used:][:length]
		s.entries = append(s.entries, entry{head(line), uint32(s.used), uint32(s.used + length)})
		s.used += length + 1
		s.longest = max(s.longest, length+1)
	}
}

func (s *sorter) sort() {
	slices.SortFunc(s.entries, func(a, b entry) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(s.memory[a.at:a.nl], s.memory[b.at:b.nl])
	})
}

// writeTo writes the sorted lines and forgets them.
func (s *sorter) writeTo(out io.Writer) error {
	s.sort()
	for _, e := range s.entries {
		if _, err := out.Write(s.memory[e.at : e.nl+1]); err != nil {
			return err
		}
	}
	s.entries, s.used = s.entries[:0], 0
	return nil
}

// spillRun makes a run of what is in memory.
func (s *sorter) spillRun() error {
	if len(s.entries) == 0 {
		return nil
	}
	return s.newRun(s.writeTo)
}

// newRun appends to the spill file what write writes.
func (s *sorter) newRun(write func(io.Writer) error) (err error) {
	if s.spill == nil {
		if s.spill, err = os.CreateTemp(s.temp, "sort-*"); err != nil {
			return err
		}
		if err := os.Remove(s.spill.Name()); err != nil {
			return err
		}
	}
	at := &offset{s.spill, s.end}
	out := bufio.NewWriterSize(at, writeBytes)
	if err := write(out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	s.runs = append(s.runs, spilled{s.end, at.at})
	s.end = at.at
	return nil
}

// writeBytes is what a file is given at once.
const writeBytes = 256 << 10

// offset writes to a file from a place on; several ranks write to one.
type offset struct {
	file *os.File
	at   int64
}

func (o *offset) Write(b []byte) (int, error) {
	n, err := o.file.WriteAt(b, o.at)
	o.at += int64(n)
	return n, err
}

func (s *sorter) close() {
	if s.spill != nil {
		s.spill.Close()
	}
}
