package main

import (
	"encoding/binary"
	"errors"
	"iter"
)

// A Part of a file is counted by one rank: every word that begins in [Off, End).
// A word that runs on past the end is finished; one that began before Off
// belongs to the part before.
type Part struct {
	Path     string
	Off, End int64
	Size     int64 // of the file when it was found: what it grows by later is left out
}

// A Share is the parts of files that one rank counts next, ready to be sent.
type Share []byte

// shareBytes is what a share has to count, at most: so little that ranks which
// take shares until there are none end within 3 ms of each other, and so much
// that what it costs to send one does not show. Small files stay whole, because
// opening one costs as much as counting 3 KiB of it; a large one becomes many
// shares.
const shareBytes = 512 << 10

// A pile is what is to be counted. Rank 0 takes its shares from the back and
// deals to the others from the front: files that lie together have words in
// common, and each rank meets, sends and adds up fewer of them than if the
// shares were mixed (of GOROOT/src on two ranks 540 000 instead of 610 000, of
// which half as many have to be sent).
type pile struct {
	files []found // grows at the back while the tree is listed, before anything is taken there
	first int     // files dealt at the front
	off   int64   // and bytes of the next one there
	back  int     // files dealt at the back
	tail  int64   // and bytes of the next one there
}

type end int

const (
	front end = iota
	back
)

// deal takes the next share, which is at most room bytes long and empty if
// nothing is left. The room is enough for a path as long as any that can be
// opened.
func (p *pile) deal(at end, room int) (s Share) {
	for left := int64(shareBytes); left > 0 && p.first+p.back < len(p.files); {
		next, last := p.first, len(p.files)-1-p.back
		i := next
		if at == back {
			i = last
		}
		f := p.files[i]
		part := Part{f.path, 0, f.size, f.size}
		if i == next {
			part.Off = p.off
		}
		if i == last {
			part.End -= p.tail
		}
		if len(s) > 0 && (part.End-part.Off > left || len(s)+partBytes(f.path) > room) {
			break // the next share's
		}
		rest := part.End - part.Off - left // of the file, for the next share
		switch {
		case rest <= 0 && at == front:
			p.first, p.off = p.first+1, 0
		case rest <= 0:
			p.back, p.tail = p.back+1, 0
		case at == front:
			part.End -= rest
			p.off = part.End
		default:
			part.Off += rest
			p.tail = f.size - part.Off
		}
		left -= part.End - part.Off
		s = s.with(part)
	}
	return s
}

// partBytes is what a part of the file takes of a share, at most.
func partBytes(path string) int { return 4*binary.MaxVarintLen64 + len(path) }

func (s Share) with(p Part) Share {
	for _, v := range []int64{p.Off, p.End, p.Size, int64(len(p.Path))} {
		s = binary.AppendUvarint(s, uint64(v))
	}
	return append(s, p.Path...)
}

var errShare = errors.New("the list of files from rank 0 is not what it should be")

// parts yields what with added.
func (s Share) parts() iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		for rest := s; len(rest) > 0; {
			var v [4]uint64
			for i := range v {
				n := 0
				if v[i], n = binary.Uvarint(rest); n <= 0 {
					yield(Part{}, errShare)
					return
				}
				rest = rest[n:]
			}
			if v[3] > uint64(len(rest)) {
				yield(Part{}, errShare)
				return
			}
			p := Part{string(rest[:v[3]]), int64(v[0]), int64(v[1]), int64(v[2])}
			if rest = rest[v[3]:]; !yield(p, nil) {
				return
			}
		}
	}
}
