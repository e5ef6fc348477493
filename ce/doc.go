// Package ce is the copy engine: bulk bytes between the members of a team, at
// the speed of plain copies.
//
// # What there is
//
//	Open → Stream     an ordered queue of operations of a team
//	  Run(ctx, &b)      a Batch of puts into members' windows, now
//	  Start(&b, …)      the same, beside the program; *Pending is asked and waited for
//	  Exchange(…)       to each member something, from each something, any memory;
//	                    ExchangeEach, where the parts follow from the member
//	  Fold(…)           the same, but what comes is folded into one where it lies
//	OpenViews → Views members look into each other's buffers: no copy at all
//	OpenFor → Stream  for a front door: operations are calls of the team itself
//
// # How bytes travel
//
// Around the copies of an operation stand two flags per edge. ready: each member
// tells each other where it wants the data (a place in its window, or its staging
// ring) and how much, and where what it sends can be read, if that lies in a
// window. complete: the sender counts up what it has sent. So nobody guesses what
// another rank knows, nobody writes where it was not invited, and every edge goes
// the shortest way its two ends allow:
//
//	the receiver's Dst lies in a window     its sender writes there       1 copy
//	else the sender's Src lies in a window  its receiver reads it there   1 copy, a fold none
//	else it is long, and the kernel lets it its receiver has it read      1 copy
//	else                                    through the receiver's ring   2 copies side by side
//
// Where both hold, where one end can be written to and the other read, and where
// nothing goes the other way, as in a broadcast or a gather, both ends copy a part
// of the edge, so that they end together.
//
// A ready line can also refuse. Every member reads every member's line, so all
// return the same error, and the team goes on.
//
// # Collectives on top of it
//
// Which parts make which collective, n members, this rank me, root as everywhere
// (an empty slice costs two flags and nothing else). All is right for any lengths,
// and for memory in windows on some ranks and private on others:
//
//	AllToAll(v)    Exchange: parts[r] = {block r of src, block r of dst}
//	AllGather(v)   Exchange: parts[r] = {src, block r of dst}; in place: src is block me of dst
//	Gather(v)      Exchange: parts[root].Src = src; at root parts[r].Dst = block r of dst
//	Scatter(v)     Exchange: at root parts[r].Src = block r of src; parts[root].Dst = dst
//	Broadcast      Exchange: at root parts[r].Src = buf, r ≠ root; elsewhere parts[root].Dst = buf
//	Reduce         Fold: parts[root].Src = src, n = len(src) at root and 0 elsewhere;
//	               inPlace false: root's own src goes to root alone
//	ReduceScatter  Fold: parts[r].Src = block r of src, n = len(block me)
//	AllReduce      small: Fold with parts[r].Src = src for all r, n = len(src), inPlace if dst is src;
//	               large: ReduceScatter into block me of dst (blocks of whole elements, the last ones
//	               shorter), then AllGather in place. In place both are right.
//
// votes are for members that find out only in the call that they cannot take what
// comes (v: a dst too short). Bad arguments that a rank can see by itself are errors of
// that rank alone, of which nobody is told.
//
// # The invariant
//
// An operation that returns without error has moved every byte it promised, and
// its ready lines, counters and ring are free for the next: ready k+1 is posted
// only after complete k from everybody, which is also why nobody overwrites a
// ready line that is still being read (spec/ready.pml). No number that a peer
// wrote is used before it is checked against the window or ring it points into, or
// leads into that peer's own memory.
//
// The idea is NCCL's copy-engine ("zero CTA") collectives over symmetric memory:
// batched copies between ready and complete barriers; streams and pending work
// are CUDA's.
package ce
