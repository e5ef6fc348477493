package symmem

import (
	"os"
	"slices"

	"github.com/symwin/symwin/internal/futex"
)

// leftWord is the liveness word of a rank that closed its world.
const leftWord = futex.Waiters

// lifeOf reads a liveness word. Any value is one of the four: the kernel marks a
// death with OwnerDied, whatever else is set.
func lifeOf(word uint32) Life {
	switch {
	case word == 0:
		return NotCome
	case word&futex.OwnerDied != 0:
		return Dead
	case word&futex.TidMask == 0:
		return Left
	}
	return Alive
}

func (b *block) lifeNow() Life { return lifeOf(b.life.Load()) }

// Thread is the number by which the kernel knows member r's process as long as
// that lives: of the thread that guards its liveness word, which is that word. 0
// once it has died or left. What was asked of the kernel by this number concerned
// that process if it is still the same behind it.
func (t *Team) Thread(r int) int {
	word := t.block(r).life.Load()
	switch {
	case lifeOf(word) != Alive:
		return 0
	case t.w.place.Policy.InProcess:
		return os.Getpid()
	}
	return int(word & futex.TidMask)
}

// dead lists the ranks marked dead by now.
func (r *region) dead() []int {
	var out []int
	for i, b := range r.blocks {
		if b.lifeNow() == Dead {
			out = append(out, i)
		}
	}
	return out
}

// fallen is dead without those that had been told of the world's abort, and ended
// because of it.
func (r *region) fallen() []int {
	return slices.DeleteFunc(r.dead(), func(rank int) bool { return r.blocks[rank].who.hears.Load() != 0 })
}

// anyDead is dead's cheap question.
func (r *region) anyDead() bool {
	for _, b := range r.blocks {
		if b.life.Load()&futex.OwnerDied != 0 {
			return true
		}
	}
	return false
}
