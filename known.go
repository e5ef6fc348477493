package symwin

import (
	"sync/atomic"

	"github.com/symwin/symwin/internal/reduce"
	"github.com/symwin/symwin/symmem"
)

// Programs make the same few calls over and over. Of one that was made before, all is
// known that does not depend on where the data lies: that its lengths agree, what its
// record says, which engine carries it. Two ranks on Zen 4, 8 bytes, ns, found out each
// time and known: all-to-all 108 and 98, all-gather 103 and 92, all-reduce 127 and 107;
// on Zen 5, an all-to-all of 4 KiB, by copies: 290 and 273. Reductions by copies are
// found out each time.
//
// A call is kept at one of some places that follow from its key, the first that is
// free, and for good. One that finds them taken is found out each time: it would take
// turns with another one otherwise, and allocate at each.
type known struct {
	calls [places]atomic.Pointer[knownCall]
}

const (
	places = 256 // a power of 2
	tries  = 8
)

// knownCall is what is known of a call. It is never written again, so whoever finds
// it may use it, also beside a second goroutine that should not be there.
type knownCall struct {
	key
	call  symmem.Record
	lines bool                              // they carry it, and not copies
	size  int                               // bytes of a part
	into  func(dst []byte, parts ...[]byte) // of a reduction
}

// key is what calls are known by: whatever their records are made of.
type key struct {
	typ      uintptr // of an element
	what     uint64  // operation, reduction, root
	dst, src int     // bytes
}

func keyOf(op symmem.Op, by Op, root int, typ uintptr, dst, src int) key {
	return key{typ, uint64(op) | uint64(by)<<8 | uint64(root)<<16, dst, src}
}

// hash is where the places begin at which a call may be: the k-th is hash + k.
func (w *key) hash() uint64 {
	h := uint64(w.typ) ^ w.what*0xc2b2ae3d27d4eb4f ^ uint64(w.dst)*0x94d049bb133111eb ^ uint64(w.src)*0xff51afd7ed558ccd
	h = (h ^ h>>29) * 0x9e3779b97f4a7c15
	return h >> 32
}

// knownCallOf is what is known of a call on team, or nil.
func knownCallOf(team *Team, op symmem.Op, by Op, root int, typ uintptr, dst, src int) (*engines, *knownCall) {
	e := opened(team)
	if e == nil || e.inside() {
		return nil, nil
	}
	w := keyOf(op, by, root, typ, dst, src)
	at := w.hash()
	for k := range uint64(tries) {
		c := e.known.calls[(at+k)%places].Load()
		if c == nil {
			break
		}
		if c.key == w && c.call.Root == root { // the key has 48 bits of it
			return e, c
		}
	}
	return nil, nil
}

// knownCopies is up to where a call by copies is kept: a larger one takes so long that
// it would be no faster, and only take a place.
const knownCopies = 64 << 10

// learn keeps what was found out about a call if there is a place for it.
func learn(team *Team, call *symmem.Record, by Op, typ uintptr, dst, src int, with reduce.Reduction) {
	e := opened(team)
	lines := call.Engine == symmem.EngineLL64
	if e == nil || !lines && (by != 0 || call.EltSize*int(call.Count) > knownCopies) {
		return
	}
	w := keyOf(call.Op, by, call.Root, typ, dst, src)
	at := w.hash()
	for k := range uint64(tries) {
		place := &e.known.calls[(at+k)%places]
		if old := place.Load(); old != nil {
			if old.key == w && old.call.Root == call.Root {
				return
			}
			continue
		}
		c := &knownCall{key: w, call: *call, lines: lines, size: call.EltSize * int(call.Count)}
		if by != 0 {
			c.into = with.Into
		}
		place.CompareAndSwap(nil, c)
		return
	}
}
