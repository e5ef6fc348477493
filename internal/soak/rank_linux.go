package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/launch"
	"github.com/symwin/symwin/symmem"
	"golang.org/x/sys/unix"
)

// now is the clock that all processes of a machine share, in nanoseconds.
func now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

func readPlan() (p plan) {
	if err := json.Unmarshal([]byte(os.Getenv(planVar)), &p); err != nil {
		panic(err)
	}
	return p
}

// playRank is a rank: it joins, works until an error or the end, and tells what
// became of it. It exits with 0 unless a fault ends it.
func playRank() int {
	p := readPlan()
	rank, _ := strconv.Atoi(os.Getenv(env.KeyRank))
	if p.Fault == pointed && p.victim(rank) {
		failpoint.Before(func(name, action string) {
			what := map[string]string{"stop": "stopping", "garbage": "spoiling"}[action]
			event{Rank: rank, What: cmp.Or(what, "dying"), Text: name + " " + action}.tell()
		})
		failpoint.OnGarbage(func() {
			if mem, where := openAsStranger(someRegion()); mem != nil {
				random := rand.New(rand.NewPCG(p.Seed, uint64(p.Round)<<32|uint64(rank)))
				spoil(random, mem, where, 8)
				_ = unix.Munmap(mem)
			}
		})
		failpoint.Arm(fmt.Sprintf("%s:%s:%d", p.Point, p.How, p.Count))
	}
	if p.victim(rank) {
		touched := make([]byte, p.Touched<<20)
		for i := 0; i < len(touched); i += 4096 {
			touched[i] = 1
		}
		defer runtime.KeepAlive(touched)
	}
	ctx := context.Background()
	w, err := symwin.Join(ctx)
	if err != nil {
		failed(rank, "ended", "join", err).tell()
		return 0
	}
	event{Rank: rank, What: "joined"}.tell()
	if p.Fault == killed && p.victim(rank) && p.How != "kill" {
		go die(rank, p.How, p.Delay)
	}
	x, op, err := work(ctx, w, p)
	failed(rank, "ended", op, err).tell()
	if err != nil {
		x.again(rank)
	}
	if err := w.Close(); err != nil {
		failed(rank, "closing", "close", err).tell()
	}
	return 0
}

// die ends the process from another goroutine, wherever the others are.
func die(rank int, how string, after time.Duration) {
	time.Sleep(after)
	event{Rank: rank, What: "dying", Text: how}.tell()
	switch how {
	case "panic":
		panic("as planned")
	case "exit":
		os.Exit(3)
	case "return":
		os.Exit(0)
	}
}

// playLauncher runs the round's ranks under the launcher.
func playLauncher() int {
	p := readPlan()
	o := launch.Options{N: p.Ranks, Stdout: os.Stdout, Stderr: os.Stderr, Env: []string{roleVar + "=rank"}}
	if p.Fault == killed && p.Round%3 == 0 {
		// As a shell's job would be.
		_ = syscall.Setpgid(0, 0)
	}
	var err error
	if o.Backing, err = symmem.ParseBacking(p.Backing); err != nil {
		panic(err)
	}
	o.Window = windowBytes
	return launch.Run(context.Background(), o, []string{"/proc/self/exe"}).ExitCode
}

const windowBytes = 64 << 20
