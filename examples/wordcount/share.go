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

// A Share is the parts of files that one rank counts, ready to be sent.
type Share []byte

// deal shares files out among so many ranks. It lays the files end to end, cuts
// that into equal pieces and deals them round. So the shares are equal in bytes,
// and because they are many small pieces from everywhere, they are also alike in
// how many words they have. Files of no size, which are opened all the same, are
// dealt one by one.
func deal(files []found, ranks int) []Share {
	shares := make([]Share, ranks)
	var bytes int64
	for _, f := range files {
		bytes += f.size
	}
	piece := pieceSize(bytes, ranks)
	to, room, empty := 0, piece, 0
	for _, f := range files {
		if f.size == 0 {
			shares[empty%ranks] = shares[empty%ranks].with(Part{Path: f.path})
			empty++
		}
		for off := int64(0); off < f.size; {
			end := min(f.size, off+room)
			shares[to] = shares[to].with(Part{f.path, off, end, f.size})
			room -= end - off
			off = end
			if room == 0 {
				to, room = (to+1)%ranks, piece
			}
		}
	}
	return shares
}

// pieceSize makes 64 pieces for each rank, so that one piece more or less is
// under 2 %, but none so small that opening files twice costs more than that.
func pieceSize(bytes int64, ranks int) int64 {
	return max(bytes/int64(64*ranks)+1, 64<<10)
}

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
