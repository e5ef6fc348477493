package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/symmem"
	"golang.org/x/sys/unix"
)

// fault does to the job what its plan says.
func (j *job) fault() {
	random := rand.New(rand.NewPCG(j.Seed, uint64(j.Round)^1<<62))
	switch j.Fault {
	case killed:
		if j.How == "kill" && j.await("joined", j.Ranks) {
			time.Sleep(j.Delay)
			j.strike(j.Victims)
		}
	case pointed:
		if j.How == "stop" && j.await("stopping", 1) {
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
			for !j.ended() { // what has come too early does nothing, and others may stop later
				j.signal(j.Victims, syscall.SIGCONT)
				time.Sleep(10 * time.Millisecond)
			}
		}
	case parked:
		if j.await("joined", j.Ranks) {
			time.Sleep(j.Delay)
			j.untilParked()
			j.strike(j.Victims)
		}
	case joining:
		time.Sleep(j.Delay)
		j.strike(j.Victims)
	case stopped:
		for range 2 + random.IntN(3) {
			if !j.await("joined", j.Ranks) {
				return
			}
			j.signal(j.Victims, syscall.SIGSTOP)
			j.begin()
			j.stops += len(j.Victims)
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
			j.signal(j.Victims, syscall.SIGCONT)
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		}
	case launcher:
		time.Sleep(j.Delay)
		j.begin()
		_ = j.cmds[0].Process.Kill()
	case everyone:
		time.Sleep(j.Delay)
		j.begin()
		for all := marked(); len(all) > 0; all = marked() { // more are being started meanwhile
			for _, p := range all {
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
	case full:
		j.fill(random)
	case scribble:
		if j.await("joined", j.Ranks) {
			time.Sleep(j.Delay)
			j.scribble(random)
		}
	case truncate:
		if j.await("joined", j.Ranks) {
			time.Sleep(j.Delay)
			if path := someRegion(); path != "" {
				j.begin()
				_ = os.Truncate(path, int64(random.IntN(1<<random.IntN(27)+1)))
			}
		}
	}
}

// pids are the processes of ranks, by rank, as far as they have been started.
func (j *job) pids(ranks []int) map[int]int {
	pids := map[int]int{}
	if !j.Hosted {
		for _, r := range ranks {
			pids[r] = j.cmds[r].Process.Pid
		}
		return pids
	}
	for _, p := range marked() {
		if slices.Contains(ranks, p.rank) {
			pids[p.rank] = p.pid
		}
	}
	return pids
}

// strike kills ranks from outside.
func (j *job) strike(ranks []int) {
	pids := j.pids(ranks)
	j.begin()
	for r, pid := range pids {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			j.hit = append(j.hit, r)
		}
	}
}

func (j *job) signal(ranks []int, s syscall.Signal) {
	for _, pid := range j.pids(ranks) {
		_ = syscall.Kill(pid, s)
	}
}

// untilParked waits until a victim is seen asleep in a wait.
func (j *job) untilParked() {
	for start := time.Now(); time.Since(start) < 2*time.Second; time.Sleep(100 * time.Microsecond) {
		found, _ := symmem.Regions()
		for _, f := range found {
			s, err := symmem.Observe(f.Pid, f.Fd)
			if err != nil {
				continue
			}
			for _, r := range s.Ranks {
				if j.victim(r.Rank) && len(r.Waits) > 0 {
					return
				}
			}
		}
	}
}

// someRegion is a path that leads to the file of a job, the only one that there
// is in this directory of shared memory, also without a name.
func someRegion() string {
	found, _ := symmem.Regions()
	for _, f := range found {
		return fmt.Sprintf("/proc/%d/fd/%d", f.Pid, f.Fd)
	}
	return ""
}

// openAsStranger maps a region as anybody of the same user may, and tells which
// parts of it have memory.
func openAsStranger(path string) (mem []byte, where []extent) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil
	}
	if where = written(f); len(where) == 0 {
		return nil, nil
	}
	mem, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil
	}
	return mem, where
}

// scribble writes garbage for a while.
func (j *job) scribble(random *rand.Rand) {
	mem, where := openAsStranger(someRegion())
	if mem == nil {
		return
	}
	defer unix.Munmap(mem)
	j.begin()
	for range 1 + random.IntN(20) {
		spoil(random, mem, where, 12)
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
	}
}

// spoil writes garbage into up to 1<<most words of a part of the region: control
// words, counts, offsets, sequence numbers, signals, lines, data.
func spoil(random *rand.Rand, mem []byte, where []extent, most int) {
	// Where it hurts: mostly the beginning, the control blocks.
	part := where[min(random.IntN(len(where)), random.IntN(len(where)))]
	if random.IntN(2) == 0 {
		part = where[0]
	}
	for range 1 << random.IntN(most) {
		at := part.off + random.Int64N(part.n/8)*8
		garbage(random, mem[at:at+8])
	}
}

// garbage changes a word in one of the ways that are likely to hurt.
func garbage(random *rand.Rand, word []byte) {
	v := random.Uint64()
	switch random.IntN(7) {
	case 0:
		v = 0
	case 1:
		v = ^uint64(0)
	case 2:
		v = 1 << random.IntN(64)
	case 3:
		v &= 0xff
	case 4:
		v = v & 0xff << 32
	}
	for i := range word {
		word[i] = byte(v >> (8 * i))
	}
}

type extent struct{ off, n int64 }

// written lists the parts of a sparse file that have memory.
func written(f *os.File) (parts []extent) {
	for end := int64(0); ; {
		off, err := unix.Seek(int(f.Fd()), end, unix.SEEK_DATA)
		if err != nil {
			return parts
		}
		if end, err = unix.Seek(int(f.Fd()), off, unix.SEEK_HOLE); err != nil {
			return parts
		}
		parts = append(parts, extent{off, end - off})
	}
}

// fill is another job that takes the memory, and gives it back, while this one
// works; or, in some rounds, takes all of it before this one has begun.
func (j *job) fill(random *rand.Rand) {
	path := filepath.Join(j.dir, "another-job")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return
	}
	defer os.Remove(path)
	defer f.Close()
	j.begin()
	for {
		if j.ended() {
			return
		}
		free, _ := shm.Free()
		leave := random.Int64N(12 << 20)
		info, err := f.Stat()
		if err != nil {
			return
		}
		size := info.Size()
		if take := free - leave; take > 0 {
			if err := unix.Fallocate(int(f.Fd()), 0, size, take); errors.Is(err, unix.ENOSPC) {
				_ = f.Truncate(size / 2)
			}
		} else {
			_ = f.Truncate(max(0, size+take))
		}
		time.Sleep(time.Duration(random.IntN(4000)) * time.Microsecond)
	}
}
