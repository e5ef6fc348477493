package window

import (
	"context"
	"encoding/binary"

	"github.com/symwin/symwin/symmem"
)

// vote is what one member says in the Exchange that decides about a piece of
// memory: it has room, at off, or it is short.
//
// As a post: word 0 is 0, or 1 + the length of Where; word 1 is off, or Need;
// word 2 is Have; words 3 to 6 are Where.
type vote struct {
	off   int64
	short *symmem.NoSpaceError
}

const maxWhere = (symmem.PostWords - 3) * 8

func (v vote) post() symmem.Post {
	if v.short == nil {
		return symmem.Post{1: uint64(v.off)}
	}
	p := symmem.Post{1: uint64(v.short.Need), 2: uint64(v.short.Have)}
	text := v.short.Where
	if len(text) > maxWhere { // a long path: all ranks show the same beginning
		text = text[:maxWhere-len("…")] + "…"
	}
	var where [maxWhere]byte
	p[0] = 1 + uint64(copy(where[:], text))
	for i := range p[3:] {
		p[3+i] = binary.LittleEndian.Uint64(where[8*i:])
	}
	return p
}

// verdict reads the votes of all members: nil, or what the first one that is
// short of something said. Since all read the same votes, all return the same.
func verdict(team *symmem.Team, posts []symmem.Post) *symmem.NoSpaceError {
	for r, p := range posts {
		if p[0] == 0 {
			continue
		}
		var where [maxWhere]byte
		for i, word := range p[3:] {
			binary.LittleEndian.PutUint64(where[8*i:], word)
		}
		return &symmem.NoSpaceError{
			Rank:  team.WorldRank(r),
			Need:  int64(p[1]),
			Have:  int64(p[2]),
			Where: string(where[:min(p[0]-1, maxWhere)]),
		}
	}
	return nil
}

// poll exchanges the votes: nil and nil if all members have what they need.
func poll(ctx context.Context, team *symmem.Team, mine vote) (*symmem.NoSpaceError, error) {
	posts, err := team.Exchange(ctx, mine.post())
	if err != nil {
		return nil, err
	}
	return verdict(team, posts), nil
}
