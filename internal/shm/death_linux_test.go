package shm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// bystanders puts into d what no sweep may touch, and gives a check that all of
// it is as it was.
func bystanders(t *testing.T, d string) (unharmed func(more ...string)) {
	own := func(job string) string { return filepath.Join(d, Name(job)) }
	live := create(t, Name("live"), 77)
	require.NoError(t, os.WriteFile(filepath.Join(d, "other"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(d, "symwin-4294967-job"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(own("mode"), []byte("x"), 0o600))
	require.NoError(t, os.Chmod(own("mode"), 0o640))
	require.NoError(t, os.Mkdir(own("dir"), 0o700))
	require.NoError(t, os.Symlink("other", own("link")))
	require.NoError(t, unix.Mkfifo(own("fifo"), 0o600))
	if os.Geteuid() == 0 {
		require.NoError(t, os.WriteFile(own("owner"), []byte("x"), 0o600))
		require.NoError(t, os.Chown(own("owner"), 65534, 65534))
	}
	before := names(t, d)
	t.Cleanup(func() {
		for _, n := range before {
			if n != live.Name() {
				require.NoError(t, os.Remove(filepath.Join(d, n)))
			}
		}
	})
	return func(more ...string) {
		t.Helper()
		require.ElementsMatch(t, append(more, before...), names(t, d))
		require.EqualValues(t, 77, author(live))
	}
}

// A process killed at any step of birth leaves nothing, or a whole region that
// the next sweep removes; until it is killed the sweep leaves it alone.
func TestKilledInBirth(t *testing.T) {
	d := dir(t)
	unharmed := bystanders(t, d)
	name := Name("born")
	for _, step := range []struct {
		phase string
		named bool
	}{{"unnamed", false}, {"locked", false}, {"sized", false}, {"written", false}, {"linked", true}, {"reopened", true}, {"held", true}} {
		t.Run(step.phase, func(t *testing.T) {
			h := start(t, "create", step.phase, name)
			h.says("at " + step.phase)
			var left []string
			if step.named {
				left = []string{name}
			}
			require.Empty(t, sweepAll(t), "swept while held")
			unharmed(left...)
			h.kill()
			require.Equal(t, left, sweepAll(t))
			unharmed()
		})
	}
}

// The same for one that dies attaching to a region that others hold.
func TestKilledInAttach(t *testing.T) {
	d := dir(t)
	name := Name("job")
	f := create(t, name, 5)
	for _, step := range []string{"opened", "attached"} {
		h := start(t, "attach", step, name)
		h.says("at " + step)
		h.kill()
		require.Empty(t, sweepAll(t))
		require.Equal(t, []string{name}, names(t, d))
	}
	require.EqualValues(t, 5, author(f))
}

// A region that was swept between an attacher's open and its lock is not its
// region: it begins again, and finds nothing, or what has the name now.
func TestSweptInAttach(t *testing.T) {
	dir(t)
	name := Name("job")

	dead(t, name, 1)
	h := start(t, "attach", "opened", name)
	h.says("at opened")
	require.Equal(t, []string{name}, sweepAll(t))
	h.goOn()
	require.Contains(t, h.hears(), unix.ENOENT.Error())
	h.kill()

	dead(t, name, 2)
	h = start(t, "attach", "opened", name)
	h.says("at opened")
	require.Equal(t, []string{name}, sweepAll(t))
	create(t, name, 3)
	h.goOn()
	h.says("keeps 3")
	h.goOn()
	h.ends()
}

// An attacher keeps a region alive whose other holders die while it attaches.
func TestAttachedKeeps(t *testing.T) {
	dir(t)
	name := Name("job")
	dead(t, name, 1)
	h := start(t, "attach", "attached", name)
	h.says("at attached")
	require.Empty(t, sweepAll(t))
	_, err := Create(name, 1, nil)
	require.ErrorIs(t, err, ErrExist)
	h.kill()
	require.Equal(t, []string{name}, sweepAll(t))
}

// The one that has the right to unlink is killed: another does its work. While
// it is only slow, the other waits for it.
func TestKilledInUnlink(t *testing.T) {
	for _, step := range []string{"named", "right", "looked", "unlinked"} {
		t.Run(step, func(t *testing.T) {
			d := dir(t)
			f := create(t, Name("job"), 1)
			h := start(t, "unlink", step, f.Name())
			h.says("at " + step)
			done := make(chan error)
			go func() { done <- f.Unlink() }()
			if step == "right" || step == "looked" {
				require.Equal(t, []string{f.Name()}, names(t, d))
			}
			h.kill()
			require.NoError(t, <-done)
			require.Empty(t, names(t, d))
		})
	}
}

// While one process has the right to unlink, nobody else can take the name away,
// so nobody can put another file under it: not between look and unlink either.
func TestNothingPassesUnlink(t *testing.T) {
	d := dir(t)
	f := create(t, Name("job"), 1)
	h := start(t, "unlink", "looked", f.Name())
	h.says("at looked")
	require.Empty(t, sweepAll(t))
	done, err := f.unlinkByRight()
	require.NoError(t, err)
	require.False(t, done, "two have the right")
	_, err = Create(f.Name(), 1, nil)
	require.ErrorIs(t, err, ErrExist)
	require.Equal(t, []string{f.Name()}, names(t, d))
	h.goOn()
	h.says("keeps 1")
	require.Empty(t, names(t, d))
	h.goOn()
	h.ends()
}

// One that was about to unlink, while others did and gave the name to another
// region, leaves that one alone.
func TestLateUnlink(t *testing.T) {
	d := dir(t)
	f := create(t, Name("job"), 1)
	h := start(t, "unlink", "named", f.Name())
	h.says("at named")
	require.NoError(t, f.Unlink())
	again := create(t, f.Name(), 2)
	h.goOn()
	h.says("keeps 1")
	require.NoError(t, f.Unlink())
	linked, err := again.Linked()
	require.NoError(t, err)
	require.True(t, linked, "removed another's name")
	require.Equal(t, []string{f.Name()}, names(t, d))
	h.goOn()
	h.ends()
}

// A sweeper is killed at any step; another finishes its work, and a birth that
// meets it waits for it.
func TestKilledInSweep(t *testing.T) {
	for _, step := range []string{"found", "mine", "looked"} {
		t.Run(step, func(t *testing.T) {
			d := dir(t)
			name := Name("job")
			dead(t, name, 1)
			h := start(t, "sweep", step)
			h.says("at " + step)
			if step != "found" {
				require.Empty(t, sweepAll(t), "two sweep one region")
			}
			h.kill()
			require.Equal(t, []string{name}, sweepAll(t))
			require.Empty(t, names(t, d))
		})
	}
}

func TestBirthAndAttachWaitForSweep(t *testing.T) {
	dir(t)
	name := Name("job")
	dead(t, name, 1)
	h := start(t, "sweep", "mine")
	h.says("at mine")
	attached := start(t, "attach", "opened", name)
	attached.says("at opened")
	attached.goOn()
	born := make(chan *File)
	go func() {
		f, err := Create(name, 1<<20, writeHeader(2))
		require.NoError(t, err)
		born <- f
	}()
	h.goOn()
	h.says("removed [" + name + "]")
	f := <-born
	require.EqualValues(t, 2, author(f))
	attached.hears() // either "not exist" or the new region: it was racing with its birth
	attached.kill()
	require.NoError(t, f.Unlink())
	require.NoError(t, f.Close())
}

// A new region takes the place of a dead one, also of a truncated one.
func TestBirthSweeps(t *testing.T) {
	d := dir(t)
	name := Name("job")
	dead(t, name, 1)
	f := create(t, name, 2)
	require.EqualValues(t, 2, author(f))
	require.NoError(t, f.Unlink())
	require.NoError(t, os.WriteFile(filepath.Join(d, name), nil, 0o600))
	require.EqualValues(t, 3, author(create(t, name, 3)))
}

// A peer that attaches to a region just born and gives it up takes the name away
// before the creator opens it again: the creator begins again.
func TestUnlinkedInBirth(t *testing.T) {
	for _, step := range []string{"linked", "reopened"} {
		t.Run(step, func(t *testing.T) {
			dir(t)
			name := Name("job")
			h := start(t, "create", step, name)
			h.says("at " + step)
			f, err := Attach(name)
			require.NoError(t, err)
			require.NoError(t, f.Unlink())
			h.goOn()
			require.Contains(t, h.hears(), "keeps ")
			g, err := Attach(name)
			require.NoError(t, err)
			same, err := sameFile(f.Fd(), g.Fd())
			require.NoError(t, err)
			require.False(t, same)
			require.EqualValues(t, h.cmd.Process.Pid, author(g))
			require.NoError(t, g.Unlink())
			require.NoError(t, g.Close())
			require.NoError(t, f.Close())
		})
	}
}

// Another region has the name when the creator opens its own again by it: that
// one is not its own.
func TestReplacedInBirth(t *testing.T) {
	dir(t)
	name := Name("job")
	h := start(t, "create", "linked", name)
	h.says("at linked")
	f, err := Attach(name)
	require.NoError(t, err)
	require.NoError(t, f.Unlink())
	require.NoError(t, f.Close())
	other := create(t, name, 2)
	h.goOn()
	require.Contains(t, h.hears(), ErrExist.Error())
	h.kill()
	linked, err := other.Linked()
	require.NoError(t, err)
	require.True(t, linked)
}

// What a process starts holds nothing of its regions.
func TestChildrenHoldNothing(t *testing.T) {
	d := dir(t)
	f, err := Create(Name("job"), 1<<20, nil)
	require.NoError(t, err)
	m, err := CreateMem(1 << 20)
	require.NoError(t, err)
	h := start(t, "idle", "-")
	h.says("idle")
	for _, link := range openLinks(t, h.cmd.Process.Pid) {
		require.NotContains(t, link, d)
		require.NotContains(t, link, "memfd:symwin")
	}
	require.NoError(t, m.Close())
	require.NoError(t, f.Close())
	require.Equal(t, []string{f.Name()}, sweepAll(t))
}
