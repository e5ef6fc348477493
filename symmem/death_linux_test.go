package symmem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/symmem"
)

// shmPhase is what internal/shm calls between the steps of birth, attach, unlink
// and sweep: a hook of that package's own tests, which these ones share.
//
//go:linkname shmPhase github.com/symwin/symwin/internal/shm.phase
var shmPhase func(string)

const stopVar = "SYMMEMTEST_STOP"

// A rank that is told to stops for good when it comes to a phase.
func init() {
	if stop := os.Getenv(stopVar); stop != "" {
		shmPhase = func(phase string) {
			if phase == stop {
				fmt.Println("at", phase)
				select {}
			}
		}
	}
}

// TestAllKilledInEveryPhaseOfJoining: one rank stops in a phase, the others come
// as far as they can, and all are killed at once. After the next start under the
// same name, or after Sweep, nothing is left of it; and the next start succeeds.
func TestAllKilledInEveryPhaseOfJoining(t *testing.T) {
	dir := shmDir(t)
	left := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		return names
	}
	for _, backing := range []string{"shm", "memfd"} {
		for _, phase := range []string{
			"unnamed", "locked", "sized", "written", "linked", "reopened", "held", // birth
			"opened", "attached", // attach
			"named", "right", "looked", "unlinked", // the end of joining
		} {
			t.Run(backing+" "+phase, func(t *testing.T) {
				j := ranktest.New(t)
				extra := []string{"SYMWIN_BACKING=" + backing}
				stopped := append(extra, stopVar+"="+phase)
				var ranks []*ranktest.Rank
				if phase == "opened" || phase == "attached" { // the second rank's phases
					ranks = append(ranks, j.Add(0, 2, "join-only", extra...))
					awaitCome(t, j.Name, 1)
					ranks = append(ranks, j.Add(1, 2, "join-only", stopped...))
					ranks[1].Await(t, "at "+phase)
				} else {
					ranks = append(ranks, j.Add(0, 2, "join-only", stopped...))
					if phase == "named" || phase == "right" || phase == "looked" || phase == "unlinked" {
						ranks = append(ranks, j.Add(1, 2, "join-only", stopped...))
						require.True(t, ranktest.Within(func() bool {
							return ranks[0].Output() != "" || ranks[1].Output() != ""
						}), "nobody came to phase %s", phase)
					} else {
						ranks[0].Await(t, "at "+phase)
						ranks = append(ranks, j.Add(1, 2, "join-only", extra...))
					}
				}
				time.Sleep(5 * time.Millisecond) // the other one is on its way
				for _, r := range ranks {
					r.Signal(9)
				}
				for _, r := range ranks {
					r.Wait()
				}
				again := []*ranktest.Rank{j.Add(0, 2, "own-number", extra...), j.Add(1, 2, "own-number", extra...)}
				for _, r := range again {
					require.Zero(t, r.Wait(), r.Output())
				}
				require.Empty(t, left(), "after the next start")

				// The same once more, and nobody starts again.
				alone := j.Add(0, 2, "join-only", stopped...)
				if phase == "unnamed" || phase == "locked" || phase == "sized" || phase == "written" || phase == "linked" || phase == "reopened" || phase == "held" {
					alone.Await(t, "at "+phase)
				} else {
					awaitCome(t, j.Name, 1)
				}
				alone.Signal(9)
				alone.Wait()
				_, err := symmem.Sweep()
				require.NoError(t, err)
				require.Empty(t, left(), "after a sweep")
			})
		}
	}
}

// TestNamesOfOthersStay: a sweep removes nothing that lives.
func TestNamesOfOthersStay(t *testing.T) {
	shmDir(t)
	h, err := symmem.NewHost("alive", symmem.Geometry{Size: 2, Window: 2 << 20})
	require.NoError(t, err)
	removed, err := symmem.Sweep()
	require.NoError(t, err)
	require.Empty(t, removed)
	require.True(t, h.Observe().Linked)
	_, err = os.Stat(filepath.Join(shm.Dir(), shm.Name("alive")))
	require.NoError(t, err)
	require.NoError(t, h.Close())
}
