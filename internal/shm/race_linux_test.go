package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	racers     = 4
	raceRounds = 400
)

// Processes bear, attach to, unlink and sweep one name as fast as they can, with
// random pauses between the steps. Before a holder unlinks it says so inside the
// region; so a holder that finds its name gone, and no such word in the region,
// has lost it to somebody without the right.
func TestRaceForOneName(t *testing.T) {
	dir(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var all []*helper
	for i := range racers {
		all = append(all, start(t, "race", "-", Name("race"), fmt.Sprint(seed), fmt.Sprint(i)))
	}
	var total tally
	for _, h := range all {
		var one tally
		line := h.hears()
		_, err := fmt.Sscan(line, &one.created, &one.attached, &one.unlinked, &one.swept)
		require.NoError(t, err, line)
		h.ends()
		total.created += one.created
		total.attached += one.attached
		total.unlinked += one.unlinked
		total.swept += one.swept
	}
	t.Logf("%+v", total)
	require.NotZero(t, total.created)
	require.NotZero(t, total.attached)
	require.NotZero(t, total.unlinked)
	require.NotZero(t, total.swept)
	sweepAll(t)
}

type tally struct{ created, attached, unlinked, swept int }

// unlinkWord is where, in the region, a holder says that it is going to unlink.
const unlinkWord = 8

// chance guards a racer's random numbers: two of its goroutines unlink at once.
var chance sync.Mutex

func race(args []string) error {
	seed, _ := strconv.ParseUint(args[1], 10, 64)
	who, _ := strconv.ParseUint(args[2], 10, 64)
	random := rand.New(rand.NewPCG(seed, who))
	phase = func(string) {
		chance.Lock()
		what, pause := random.IntN(8), random.IntN(200)
		chance.Unlock()
		switch what {
		case 0:
			time.Sleep(time.Duration(pause) * time.Microsecond)
		case 1, 2:
			runtime.Gosched()
		}
	}
	var n tally
	for round := range raceRounds {
		f, err := Create(args[0], 1<<20, writeHeader(1+uint64(round)))
		switch {
		case err == nil:
			n.created++
		case errors.Is(err, ErrExist):
			f, err = Attach(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			n.attached++
		}
		if err != nil {
			return err
		}
		if err := raceHold(f, random, &n); err != nil {
			return fmt.Errorf("racer %d, round %d: %w", who, round, err)
		}
	}
	tell(n.created, n.attached, n.unlinked, n.swept)
	return nil
}

// raceHold does something with a region that is held, and lets go of it: with
// or without its name.
func raceHold(f *File, random *rand.Rand, n *tally) error {
	defer f.Close()
	if author(f) == 0 {
		return errors.New("attached to a region that is not whole")
	}
	for range random.IntN(4) {
		phase("hold")
		if err := robbed(f); err != nil {
			return err
		}
	}
	switch random.IntN(3) {
	case 0:
		said := binary.LittleEndian.AppendUint64(nil, uint64(os.Getpid()))
		if _, err := f.file.WriteAt(said, unlinkWord); err != nil {
			return err
		}
		twice := make(chan error)
		go func() { twice <- f.Unlink() }()
		if err := errors.Join(f.Unlink(), <-twice); err != nil {
			return err
		}
		if linked, err := f.Linked(); err != nil || linked {
			return fmt.Errorf("linked %v after Unlink: %w", linked, err)
		}
		n.unlinked++
	case 1:
		removed, err := Sweep()
		if err != nil {
			return err
		}
		n.swept += len(removed)
		return robbed(f)
	default: // leave the name: if nobody else holds it, the next birth or sweep takes it
		f.Close()
		removed, err := Sweep()
		n.swept += len(removed)
		return err
	}
	return nil
}

func robbed(f *File) error {
	linked, err := f.Linked()
	if err != nil || linked {
		return err
	}
	var said [8]byte
	if _, err := f.file.ReadAt(said[:], unlinkWord); err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(said[:]) == 0 {
		return errors.New("somebody without the right has removed the name")
	}
	return nil
}
