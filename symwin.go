package symwin

import (
	"context"
	"errors"
	"fmt"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// World is one rank's membership in a job. See package symmem.
type World = symmem.World

// Team is an ordered set of ranks that do collectives together.
type Team = symmem.Team

// Options is what JoinWith needs to know.
type Options = symmem.Options

// Window is an allocation at the same offset in every rank's window.
type Window[T any] = window.Window[T]

// The errors of the library, for errors.Is, and their details, for errors.As.
var (
	ErrRankFailed = symmem.ErrRankFailed
	ErrTimeout    = symmem.ErrTimeout
	ErrMismatch   = symmem.ErrMismatch
	ErrNoSpace    = symmem.ErrNoSpace
	ErrAborted    = symmem.ErrAborted
	ErrLeft       = symmem.ErrLeft
	ErrRegion     = symmem.ErrRegion
	ErrClosed     = symmem.ErrClosed
	ErrUsage      = symmem.ErrUsage
	ErrTooShort   = symmem.ErrTooShort
)

// The types behind those errors.
type (
	RankFailedError = symmem.RankFailedError
	TimeoutError    = symmem.TimeoutError
	MismatchError   = symmem.MismatchError
	NoSpaceError    = symmem.NoSpaceError
	AbortedError    = symmem.AbortedError
	LeftError       = symmem.LeftError
	TooShortError   = symmem.TooShortError
)

// Join makes this process a rank of the job that its environment names, and
// returns when all ranks have come and are found to choose engines alike. With no
// launcher's variables set it is a world of one. Defer World.Close.
//
// Errors: those of symmem.Join; ErrUsage for a SYMWIN_ALGO that says nothing;
// ErrMismatch, on all ranks, if they differ in it or in their tables of engines
// (Explain).
func Join(ctx context.Context) (*World, error) { return join(ctx, symmem.Join) }

// JoinWith is Join with everything said by hand.
func JoinWith(ctx context.Context, o Options) (*World, error) {
	return join(ctx, func(ctx context.Context) (*World, error) { return symmem.JoinWith(ctx, o) })
}

// FromEnvironment returns what Join would begin with here, as symmem's does, or the
// error that it would end with for variables alone, SYMWIN_ALGO included.
func FromEnvironment() (Options, error) {
	if _, err := parseAlgo(env.Get(env.KeyAlgo)); err != nil {
		return Options{}, fmt.Errorf("join: %w", err)
	}
	return symmem.FromEnvironment()
}

func join(ctx context.Context, come func(context.Context) (*World, error)) (*World, error) {
	said, err := parseAlgo(env.Get(env.KeyAlgo))
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	w, err := come(ctx)
	if err != nil {
		return nil, err
	}
	if err := agree(ctx, w, said); err != nil {
		return nil, errors.Join(fmt.Errorf("join: %w", err), w.Close())
	}
	return w, nil
}

// Run runs f as n ranks, each a goroutine of this process: for tests and
// examples. It returns the error of the rank that failed first, or nil.
func Run(ctx context.Context, n int, f func(context.Context, *World) error) error {
	if _, err := parseAlgo(env.Get(env.KeyAlgo)); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return symmem.Run(ctx, n, f)
}

// Alloc allocates n elements of T in every rank's window, zeroed and aligned to
// 64 bytes. It is collective over the world, in one order on all ranks. T is free
// of pointers. ErrNoSpace comes on all ranks, and the world goes on.
func Alloc[T any](ctx context.Context, w *World, n int) (*Window[T], error) {
	return window.Alloc[T](ctx, w, n)
}
