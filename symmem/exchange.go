package symmem

import (
	"context"
	"hash/fnv"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
)

// PostWords is how many words a member contributes to an Exchange.
const PostWords = postWords - 1

// Post is one member's part of an Exchange.
type Post [PostWords]uint64

// Exchange gives every member the posts of all, by team rank: a barrier with
// something in its hands. It is a part of a collective call, between Enter and
// Leave of the team's lane; it publishes that call and compares it: members that
// called something else are an ErrMismatch on all of them.
//
// A post is written before the arrival that announces it (release) and read
// after all have arrived (acquire); it lies in the half of its number's parity,
// so a fast member cannot overwrite what is being read.
func (t *Team) Exchange(ctx context.Context, mine Post) (posts []Post, err error) {
	half := (t.exchanges + 1) & 1
	post := &t.mine.post[half]
	copy(post[1:], mine[:])
	post[0] = t.lane.call.agreement()
	failpoint.Hit(failpoint.ExchangePosted)
	if !t.lane.open {
		t.lane.Publish()
	}
	if err := t.rendezvous(ctx); err != nil {
		return nil, err
	}
	posts = make([]Post, len(t.places))
	agree := true
	for r, p := range t.places {
		copy(posts[r][:], p.post[half][1:])
		agree = agree && p.post[half][0] == post[0]
	}
	if !agree {
		if err := t.lane.mismatch(true); err != nil {
			return nil, err
		}
		return nil, &MismatchError{Ranks: []int{t.w.rank}, Calls: []Record{t.lane.call}}
	}
	return posts, nil
}

// Rendezvous is a barrier inside a call of the lane, between Publish and Leave:
// what a member stored before it, others may read after it.
func (l *Lane) Rendezvous(ctx context.Context) error { return l.team.rendezvous(ctx) }

// rendezvous counts up the own word and waits for the others'. Its release store
// comes after all stores of the calling operation.
func (t *Team) rendezvous(ctx context.Context) error {
	t.exchanges++
	line.StoreRelease64(&t.mine.posted, t.exchanges)
	t.posted.Expect(t.exchanges)
	failpoint.Hit(failpoint.ExchangeArrived)
	// The call may do something long after this, reserve memory: nobody shall
	// sleep until it comes to its end.
	t.RingAll()
	return t.lane.Await(ctx, t.posted)
}

// agreement condenses what all members' records of one call have in common.
func (r *Record) agreement() uint64 {
	h := fnv.New64a()
	var words recordWords
	r.encode(&words)
	for _, v := range words {
		for range 8 {
			_, _ = h.Write([]byte{byte(v)})
			v >>= 8
		}
	}
	return h.Sum64()
}
