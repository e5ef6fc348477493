package futex

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const childVar = "FUTEX_TEST_CHILD"

// In a child, descriptor 3 is the shared memory: arm its first word and end in
// the way the test wants.
func TestMain(m *testing.M) {
	how := os.Getenv(childVar)
	if how == "" {
		os.Exit(m.Run())
	}
	word := wordOf(mapShared(3))
	armed := make(chan error)
	go func() {
		runtime.LockOSThread()
		r, err := Arm(word)
		if err == nil && how == "disarm" {
			r.Disarm()
		}
		armed <- err
		select {}
	}()
	if err := <-armed; err != nil {
		os.Exit(9)
	}
	if how == "exec" {
		_ = unix.Exec("/proc/self/exe", []string{"again", "-test.run=^$"}, []string{})
	}
	os.Exit(0)
}

func mapShared(fd int) []byte {
	b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return b
}

func wordOf(b []byte) *uint32 { return (*uint32)(unsafe.Pointer(&b[0])) }

func child(t *testing.T, how string) (*uint32, *exec.Cmd) {
	fd, err := unix.MemfdCreate("futex-test", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "shared")
	t.Cleanup(func() { f.Close() })
	require.NoError(t, f.Truncate(4096))
	c := exec.Command("/proc/self/exe", "-test.run=^$")
	c.Env = append(os.Environ(), childVar+"="+how)
	c.ExtraFiles = []*os.File{f}
	b := mapShared(fd)
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return wordOf(b), c
}

func TestTheKernelMarksTheWordOfTheDead(t *testing.T) {
	for _, how := range []string{"exit", "exec"} {
		word, c := child(t, how)
		require.NoError(t, c.Start())
		for atomic.LoadUint32(word)&OwnerDied == 0 {
			Wait(word, atomic.LoadUint32(word)&^OwnerDied, time.Second)
		}
		require.NotZero(t, atomic.LoadUint32(word)&Waiters, "Waiters is kept")
		require.NoError(t, c.Wait())
	}
}

func TestDisarmedWordsAreLeftAlone(t *testing.T) {
	word, c := child(t, "disarm")
	require.NoError(t, c.Run())
	require.Zero(t, atomic.LoadUint32(word)&OwnerDied)
	require.NotZero(t, atomic.LoadUint32(word)&TidMask)
}

func TestArmRefusesATakenWord(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	page := make([]byte, 64)
	*wordOf(page) = 7
	_, err := Arm(wordOf(page))
	require.True(t, errors.Is(err, ErrPlaceTaken))
	require.EqualValues(t, 7, *wordOf(page))
}

func TestWaitLooksAtTheValue(t *testing.T) {
	word := new(uint32)
	Wait(word, 1, 0) // the value is another: no sleep, or this would never end
	woken := make(chan struct{})
	go func() {
		for atomic.LoadUint32(word) == 0 {
			Wait(word, 0, 0)
		}
		close(woken)
	}()
	atomic.StoreUint32(word, 1)
	for {
		Wake(word, 1)
		select {
		case <-woken:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
