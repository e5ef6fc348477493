package symmem

import (
	"sync/atomic"
	"time"
)

// publish tells outsiders whom a wait waits for. The caller has claimed the
// place, so it is the only writer; readers retry while version is odd or changes.
func (w *waitRecord) publish(call *Record, since time.Duration, missing []int) {
	w.version.Add(1)
	var words recordWords
	call.encode(&words)
	for i := range words {
		w.call[i].Store(words[i])
	}
	var set rankSet
	for _, r := range missing {
		set.add(r)
	}
	for i := range set {
		w.missing[i].Store(set[i])
	}
	w.since.Store(uint64(since))
	w.version.Add(1)
}

// clear says that nobody waits here any more.
func (w *waitRecord) clear() {
	w.version.Add(1)
	w.since.Store(0)
	w.version.Add(1)
}

func (w *waitRecord) read(size int) (WaitState, bool) {
	for range 100 {
		before := w.version.Load()
		if before&1 != 0 {
			continue
		}
		since := w.since.Load()
		var words recordWords
		for i := range words {
			words[i] = w.call[i].Load()
		}
		var set rankSet
		for i := range set {
			set[i] = w.missing[i].Load()
		}
		if w.version.Load() != before {
			continue
		}
		if since == 0 {
			return WaitState{}, false
		}
		call, _ := loadRecord(&words)
		return WaitState{Call: call, Missing: set.list(size), Since: max(0, monotonic()-time.Duration(since))}, true
	}
	return WaitState{}, false
}

// waitPlace hands out the places of one rank to its goroutines. A rank with more
// waits than places keeps the rest to itself: ps shows the first four.
type waitPlaceSet struct{ taken atomic.Uint32 }

func (s *waitPlaceSet) claim() int {
	for {
		t := s.taken.Load()
		for i := range waitPlaces {
			if t>>i&1 == 0 {
				if s.taken.CompareAndSwap(t, t|1<<i) {
					return i
				}
				break
			}
		}
		if t == 1<<waitPlaces-1 {
			return -1
		}
	}
}

func (s *waitPlaceSet) free(i int) {
	for {
		t := s.taken.Load()
		if s.taken.CompareAndSwap(t, t&^(1<<i)) {
			return
		}
	}
}
