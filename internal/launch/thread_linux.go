package launch

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"github.com/symwin/symwin/internal/topo"
	"golang.org/x/sys/unix"
)

// process is one started rank.
type process struct {
	pid   int // also its process group
	pidfd int
}

// ended is a rank's end, as the thread saw it.
type ended struct {
	rank int
	end  end
}

// recruit is what the thread needs to start one rank.
type recruit struct {
	files [3]uintptr
	env   []string
	cpus  []int // nil: not bound
}

// thread starts the ranks and then waits for them. It stays on one OS thread
// from the first start to the last end, because the kernel sends a rank its
// Pdeathsig when the thread that started it ends, and because a rank inherits
// the CPUs of that thread.
type thread struct {
	program string
	argv    []string
	next    func(rank int) (recruit, error) // what rank gets; called on the thread
	n       int

	started chan startReport
	ended   chan ended // room for all, so the thread never waits for its reader
}

// startReport lists the ranks that were started: all, or those before the one
// that could not be.
type startReport struct {
	ranks []process
	err   error
}

// run is the thread's goroutine. It closes ended when all started ranks have
// ended.
func (t *thread) run(watch func(group int)) {
	defer close(t.ended)
	runtime.LockOSThread()
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.started <- startReport{err: fmt.Errorf("epoll_create: %w", err)}
		return
	}
	defer unix.Close(poll)

	home, err := topo.Usable()
	if err != nil {
		t.started <- startReport{err: err}
		return
	}
	ranks, err := t.start(poll, watch)
	// A thread that does not get its CPUs back stays locked and ends here.
	if topo.Bind(home) == nil {
		defer runtime.UnlockOSThread()
	}
	t.started <- startReport{ranks, err}
	t.wait(poll, ranks)
}

func (t *thread) start(poll int, watch func(group int)) (ranks []process, err error) {
	for rank := range t.n {
		r, err := t.next(rank)
		if err != nil {
			return ranks, err
		}
		if r.cpus != nil {
			if err := topo.Bind(r.cpus); err != nil {
				return ranks, fmt.Errorf("binding rank %d: %w", rank, err)
			}
		}
		p := process{pidfd: -1}
		p.pid, err = syscall.ForkExec(t.program, t.argv, &syscall.ProcAttr{
			Env:   r.env,
			Files: r.files[:],
			Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, PidFD: &p.pidfd},
		})
		if err != nil {
			return ranks, &startError{rank: rank, program: t.program, err: err}
		}
		watch(p.pid)
		ranks = append(ranks, p)
		if p.pidfd < 0 {
			err = fmt.Errorf("rank %d: %w", rank, errNoPidfd)
		} else if e := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, p.pidfd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(rank)}); e != nil {
			err = fmt.Errorf("watching rank %d: %w", rank, e)
		}
		if err != nil {
			// Nobody would hear of its end.
			_ = syscall.Kill(-p.pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(p.pid, nil, 0, nil)
			return ranks[:rank], err
		}
	}
	return ranks, nil
}

// wait reports each end as it comes. The dead stay zombies.
func (t *thread) wait(poll int, ranks []process) {
	events := make([]unix.EpollEvent, 64)
	for left := len(ranks); left > 0; {
		n, err := unix.EpollWait(poll, events, -1)
		if err != nil && err != unix.EINTR {
			panic(fmt.Sprintf("epoll_wait: %v", err)) // a descriptor of ours was closed
		}
		for _, event := range events[:max(n, 0)] {
			rank := int(event.Fd)
			how, err := peek(ranks[rank].pidfd)
			if err != nil {
				how = end{code: 1, unknown: err}
			}
			_ = unix.EpollCtl(poll, unix.EPOLL_CTL_DEL, ranks[rank].pidfd, nil)
			t.ended <- ended{rank, how}
			left--
		}
	}
}

var errNoPidfd = errors.New("this kernel gives no pidfd; Linux 5.4 or later is needed")

// startError is a program that could not be started.
type startError struct {
	rank    int
	program string
	err     error
}

func (e *startError) Error() string {
	text := fmt.Sprintf("cannot start rank %d: %s: %v", e.rank, e.program, e.err)
	switch e.err {
	case syscall.ENOEXEC:
		text += "; a script needs a first line such as #!/bin/sh"
	case syscall.ENOENT:
		text += "; it may need an interpreter or loader that is not there"
	case syscall.EAGAIN:
		text += "; see ulimit -u and the pids limit of the cgroup"
	}
	return text
}

func (e *startError) Unwrap() error { return e.err }

// exitCode follows the shells: what is not there, what cannot be executed, what
// failed for want of something.
func (e *startError) exitCode() int {
	switch e.err {
	case syscall.ENOENT:
		return exitNotFound
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		return 1
	}
	return exitNotExecutable
}
