package main

import (
	"bytes"
	"container/heap"
	"io"
	"slices"
)

// finish writes all lines in order. If there were runs, the memory in which they
// were sorted is by now free for reading them: a buffer for each of as many as
// are merged at once. If there are more, some become one first.
func (s *sorter) finish(out io.Writer) error {
	if len(s.runs) == 0 {
		return s.writeTo(out)
	}
	if err := s.spillRun(); err != nil {
		return err
	}
	buffer := max(s.longest, min(readBytes, len(s.memory)/16))
	for fan := len(s.memory) / buffer; len(s.runs) > fan; {
		some := slices.Clone(s.runs[:fan])
		s.runs = slices.Delete(s.runs, 0, fan)
		if err := s.newRun(func(w io.Writer) error { return s.merge(some, buffer, w) }); err != nil {
			return err
		}
	}
	return s.merge(s.runs, buffer, out)
}

// readBytes is what a run is read by, if there is memory for all.
const readBytes = 256 << 10

func (s *sorter) merge(runs []spilled, buffer int, out io.Writer) error {
	var h sources
	for i, r := range runs {
		src := &source{file: s.spill, run: r, buffer: s.memory[i*buffer:][:buffer]}
		if err := src.next(); err != nil {
			return err
		}
		if src.line != nil {
			h = append(h, src)
		}
	}
	for heap.Init(&h); len(h) > 0; {
		if _, err := out.Write(h[0].line); err != nil {
			return err
		}
		if err := h[0].next(); err != nil {
			return err
		}
		if h[0].line == nil {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
	}
	return nil
}

// A source is a run that is being read.
type source struct {
	file   io.ReaderAt
	run    spilled // what was not read yet
	buffer []byte  // as long as the longest line or longer
	rest   []byte  // what was read and not handed out
	line   []byte  // the first line, with its end; nil behind the last
	head   uint64
}

func (s *source) next() error {
	i := bytes.IndexByte(s.rest, '\n')
	if i < 0 {
		n := copy(s.buffer, s.rest)
		more := s.buffer[n:][:min(int64(len(s.buffer)-n), s.run.end-s.run.at)]
		if _, err := s.file.ReadAt(more, s.run.at); err != nil && len(more) > 0 {
			return err
		}
		s.run.at += int64(len(more))
		s.rest = s.buffer[:n+len(more)]
		if i = bytes.IndexByte(s.rest, '\n'); i < 0 {
			s.line = nil
			return nil
		}
	}
	s.line, s.rest = s.rest[:i+1], s.rest[i+1:]
	s.head = head(s.line[:i])
	return nil
}

// sources is a heap, the least line first.
type sources []*source

func (h sources) Len() int      { return len(h) }
func (h sources) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h sources) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.head != b.head {
		return a.head < b.head
	}
	return bytes.Compare(a.line[:len(a.line)-1], b.line[:len(b.line)-1]) < 0
}
func (h *sources) Push(x any) { *h = append(*h, x.(*source)) }
func (h *sources) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
