package doctor

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/shm"
)

// ChildCommand is the word for which a program calls Child with what follows.
const ChildCommand = "doctor-child"

// report is what the child tells.
type report struct {
	Peer   string `json:"peer"`   // error of opening the parent's memfd
	Memory string `json:"memory"` // error of reading the parent's secret
}

const secret = 0x73796d77696e

// tryChild tries what processes do with each other on a child, which is this
// program again.
func (f *Facts) tryChild() {
	region, err := shm.CreateMem(1 << 20)
	fd := -1
	if err != nil {
		f.Memfd = strings.TrimPrefix(err.Error(), "shm: memfd: ")
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			f.Memfd = "memfd_create is refused"
		}
	} else {
		defer region.Close()
		fd = region.Fd()
	}
	word := new(uint64)
	*word = secret
	defer runtime.KeepAlive(word)
	pidfd := -1
	c := exec.Command("/proc/self/exe", ChildCommand, strconv.Itoa(os.Getpid()), strconv.Itoa(fd), strconv.FormatUint(uint64(addressOf(word)), 10))
	c.SysProcAttr = &syscall.SysProcAttr{PidFD: &pidfd}
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err := errors.Join(err1, err2, c.Start()); err != nil {
		f.Clone, f.Peer, f.PeerMemory, f.Pidfd = err.Error(), "no child: "+err.Error(), "no child", "no child"
		return
	}
	if pidfd < 0 {
		f.Clone = "this kernel gives none"
	} else {
		defer unix.Close(pidfd)
	}
	var r report
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		r.Peer = "a child said nothing: " + err.Error()
		r.Memory = r.Peer
	}
	f.Peer, f.PeerMemory = r.Peer, r.Memory
	opened, err := unix.PidfdOpen(c.Process.Pid, 0)
	_ = in.Close() // it ends
	if err != nil {
		f.Pidfd = err.Error()
	} else {
		f.Pidfd = awaitEnd(opened)
		_ = unix.Close(opened)
	}
	_ = c.Wait()
}

// readMemory reads another process's secret, as ranks read each other's private
// memory. The child reads the parent's: ranks are not each other's children, either,
// and that is what yama asks for.
func readMemory(pid int, address uintptr) string {
	var word [8]byte
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &word[0], Len: 8}}, []unix.RemoteIovec{{Base: address, Len: 8}}, 0)
	switch {
	case err != nil:
		return err.Error()
	case n != 8 || binary.NativeEndian.Uint64(word[:]) != secret:
		return "read something else"
	}
	return ""
}

func awaitEnd(pidfd int) string {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 5000)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err.Error()
		case n == 0:
			return "the end of a process was not told"
		}
		return ""
	}
}

// Child is what the child does: it opens descriptor args[1] of process args[0],
// reads what is there at address args[2], reports, and ends when its input does. It
// returns the exit code.
func Child(args []string) int {
	if len(args) != 3 {
		return 2
	}
	pid, _ := strconv.Atoi(args[0])
	address, _ := strconv.ParseUint(args[2], 10, 64)
	r := report{Memory: readMemory(pid, uintptr(address))}
	if fd, err := strconv.Atoi(args[1]); err == nil && fd >= 0 {
		region, err := shm.AttachPid(pid, fd)
		if err != nil {
			r.Peer = strings.TrimPrefix(err.Error(), "shm: ")
		} else {
			_ = region.Close()
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return 1
	}
	fmt.Printf("%s\n", text)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}
