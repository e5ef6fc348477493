package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
)

// A share is the lines of a file that begin in a range of its bytes. It hands
// them out from a buffer of fixed size, which no line may exceed.
type share struct {
	file   io.ReaderAt // as long as all ranks have agreed on
	name   string
	begin  int64
	end    int64
	at     int64  // where in the file rest begins
	buffer []byte // what was read
	rest   []byte // the part of it that was not handed out yet
	eof    bool   // rest is the last there is
}

// shareOf is rank r's share of n of a file.
func shareOf(file *io.SectionReader, name string, r, n int, buffer []byte) *share {
	size := file.Size()
	return &share{file: file, name: name, buffer: buffer,
		begin: cut(size, r, n), end: cut(size, r+1, n), at: cut(size, r, n)}
}

// cut is size·r/n, also where that product is beyond 63 bits.
func cut(size int64, r, n int) int64 {
	return size/int64(n)*int64(r) + size%int64(n)*int64(r)/int64(n)
}

// open goes to the first line that begins in the share: behind the end of the
// one which stands across its beginning.
func (s *share) open() error {
	if s.begin == 0 {
		return nil
	}
	for s.at = s.begin - 1; s.at < s.end; {
		n, err := s.read(s.buffer, s.at)
		if err != nil {
			return err
		}
		if i := bytes.IndexByte(s.buffer[:n], '\n'); i >= 0 {
			s.at += int64(i + 1)
			return nil
		}
		if n == 0 {
			break
		}
		s.at += int64(n)
	}
	s.at = s.end
	return nil
}

func (s *share) read(b []byte, at int64) (int, error) {
	n, err := s.file.ReadAt(b, at)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// more tells whether there may be a line left.
func (s *share) more() bool { return s.at < s.end && (len(s.rest) > 0 || !s.eof) }

// fill reads on, so that at least one line can be had if there is one.
func (s *share) fill() error {
	if !s.more() || s.eof {
		return nil
	}
	have := copy(s.buffer, s.rest)
	n, err := s.read(s.buffer[have:], s.at+int64(have))
	if err != nil {
		return err
	}
	s.rest = s.buffer[:have+n]
	if have+n < len(s.buffer) { // all of the file was read
		if s.eof = true; have+n > 0 && s.rest[have+n-1] != '\n' {
			s.rest = append(s.rest, '\n') // as sort does
		}
	} else if bytes.IndexByte(s.rest, '\n') < 0 {
		return fmt.Errorf("%s: the line at byte %d has %d bytes or more; a larger --memory takes longer lines", s.name, s.at, len(s.buffer))
	}
	return nil
}

// next is a line with its end, nil if there is none in the buffer. It is valid
// until the next fill.
func (s *share) next() []byte {
	i := bytes.IndexByte(s.rest, '\n')
	if i < 0 || s.at >= s.end {
		return nil
	}
	line := s.rest[:i+1]
	s.rest = s.rest[i+1:]
	s.at += int64(len(line))
	return line
}

// samples and sampleBytes are how many lines of a share stand for it and how much
// of each: a splitter need not be a whole line, and with 128 samples a rank gets
// within some percent of its part.
const samples, sampleBytes = 128, 256

// sample is some lines of the share, or their beginnings, one after the other.
func (s *share) sample() ([]byte, error) {
	random := rand.New(rand.NewPCG(uint64(s.begin), uint64(s.end)))
	var all []byte
	for range samples {
		if s.begin == s.end {
			break
		}
		// A place in the file is likelier to fall into a longer line: so it is
		// bytes that are shared out, and not lines.
		n, err := s.read(s.buffer, s.begin+random.Int64N(s.end-s.begin))
		if err != nil {
			return nil, err
		}
		_, line, _ := bytes.Cut(s.buffer[:n], []byte("\n"))
		if line, _, _ = bytes.Cut(line, []byte("\n")); len(line) > 0 {
			all = append(append(all, line[:min(len(line), sampleBytes)]...), '\n')
		}
	}
	return all, nil
}
