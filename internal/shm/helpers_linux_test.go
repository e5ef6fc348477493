package shm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test binary re-executes itself as other processes. A helper plays the
// role that roleVar names, tells on its output where it is, and waits there for
// a line of input, or to be killed.
const roleVar = "SHMTEST_ROLE"

var helpers = map[string]func(args []string) error{
	"create": func(a []string) error {
		f, err := Create(a[0], 1<<20, writeHeader(uint64(os.Getpid())))
		return keep(f, err)
	},
	"attach": func(a []string) error { return keep(Attach(a[0])) },
	"unlink": func(a []string) error {
		f, err := Attach(a[0])
		if err != nil {
			return err
		}
		return keep(f, f.Unlink())
	},
	"sweep": func([]string) error { removed, err := Sweep(); tell("removed", removed); return err },
	"idle":  func([]string) error { tell("idle"); listen(); return nil },
	"race":  race,
	"peer":  peer,
}

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(roleVar))
	if len(words) == 0 {
		os.Exit(m.Run())
	}
	stop := words[1]
	phase = func(p string) {
		if p == stop {
			stop = ""
			tell("at", p)
			listen()
		}
	}
	if err := helpers[words[0]](words[2:]); err != nil {
		tell("error", err)
		os.Exit(1)
	}
}

var input = bufio.NewReader(os.Stdin)

func tell(words ...any) { fmt.Println(words...) }

// listen waits for a line; a parent that is gone ends the helper.
func listen() {
	if _, err := input.ReadString('\n'); err != nil {
		os.Exit(3)
	}
}

// keep holds a region until the parent says a word, and tells whose it is.
func keep(f *File, err error) error {
	if err != nil {
		return err
	}
	tell("keeps", author(f))
	listen()
	return f.Close()
}

// helper is another process.
type helper struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// start runs a helper in a role; it stops at the named phase ("-": at none).
func start(t *testing.T, role, stopAt string, args ...string) *helper {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+strings.Join(append([]string{role, stopAt}, args...), " "))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	h := &helper{t, cmd, in, bufio.NewScanner(out)}
	t.Cleanup(func() { h.kill() })
	return h
}

// says waits for the helper's next line.
func (h *helper) says(want string) {
	h.t.Helper()
	require.Equal(h.t, want, h.hears())
}

func (h *helper) hears() string {
	h.t.Helper()
	require.True(h.t, h.out.Scan(), "the helper has ended: %v", h.out.Err())
	return h.out.Text()
}

func (h *helper) goOn() {
	h.t.Helper()
	_, err := fmt.Fprintln(h.in)
	require.NoError(h.t, err)
}

// kill ends the helper by SIGKILL, at once, and waits: its locks are gone then.
func (h *helper) kill() {
	if h.cmd.ProcessState == nil {
		h.cmd.Process.Kill()
		h.cmd.Wait()
	}
}

func (h *helper) ends() {
	h.t.Helper()
	for h.out.Scan() {
		h.t.Log(h.out.Text())
	}
	require.NoError(h.t, h.cmd.Wait())
}

// dir is a directory of the test's own on the tmpfs of /dev/shm. At the end
// nothing may be in it, and no descriptor of this process lead there.
func dir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("/dev/shm", "shmtest-")
	if err != nil {
		t.Skip("no /dev/shm: ", err)
	}
	t.Setenv("SYMWIN_SHM_DIR", d)
	t.Cleanup(func() {
		left := names(t, d)
		require.NoError(t, os.RemoveAll(d))
		require.Empty(t, left, "left behind")
		for _, link := range openLinks(t, "self") {
			require.False(t, strings.HasPrefix(link, d+"/") || strings.HasPrefix(link, "/memfd:symwin"), "descriptor left open: %s", link)
		}
	})
	return d
}

func names(t *testing.T, d string) (all []string) {
	entries, err := os.ReadDir(d)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// openLinks is what the descriptors of a process lead to.
func openLinks(t *testing.T, pid any) (links []string) {
	fds := fmt.Sprintf("/proc/%v/fd", pid)
	for _, fd := range names(t, fds) {
		if link, err := os.Readlink(filepath.Join(fds, fd)); err == nil {
			links = append(links, link)
		}
	}
	return links
}

// writeHeader puts an author behind the magic and, so that a half-made region
// can be told, the complement 64 KiB further.
func writeHeader(author uint64) func(io.WriterAt) error {
	return func(w io.WriterAt) error {
		_, err := w.WriteAt([]byte(Magic), 0)
		_, err1 := w.WriteAt(binary.LittleEndian.AppendUint64(nil, author), authorWord)
		_, err2 := w.WriteAt(binary.LittleEndian.AppendUint64(nil, ^author), 64<<10)
		return errors.Join(err, err1, err2)
	}
}

const authorWord = 24

// author reads what writeHeader wrote; 0 for a region that is not whole.
func author(f *File) uint64 {
	var a, b [8]byte
	_, err := f.file.ReadAt(a[:], authorWord)
	_, err2 := f.file.ReadAt(b[:], 64<<10)
	x := binary.LittleEndian.Uint64(a[:])
	if errors.Join(err, err2) != nil || ^x != binary.LittleEndian.Uint64(b[:]) {
		return 0
	}
	return x
}

// create makes a region that ends with the test.
func create(t *testing.T, name string, author uint64) *File {
	t.Helper()
	f, err := Create(name, 1<<20, writeHeader(author))
	require.NoError(t, err)
	t.Cleanup(func() {
		f.Unlink()
		require.NoError(t, f.Close())
	})
	return f
}

// dead leaves a region under the name that nobody holds.
func dead(t *testing.T, name string, author uint64) {
	t.Helper()
	f, err := Create(name, 1<<20, writeHeader(author))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func sweepAll(t *testing.T) []string {
	t.Helper()
	removed, err := Sweep()
	require.NoError(t, err)
	return removed
}
