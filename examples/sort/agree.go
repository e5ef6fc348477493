package main

import (
	"context"
	"errors"

	"github.com/symwin/symwin"
)

// A failure is what was wrong on some rank, as all ranks return it.
type failure struct {
	status int // the exit status: 2 for what the command line names, 1 for what came later
	text   string
}

func (f *failure) Error() string { return f.text }

// failed makes err a failure, nil if there is none.
func failed(status int, err error) *failure {
	if err == nil {
		return nil
	}
	return &failure{status, err.Error()}
}

// tooLongToTell cuts the texts of failures.
const tooLongToTell = 1000

// A state is what a rank has come to; those of several ranks add up.
type state int32

const (
	idle state = 0
	work state = 1 << iota // has lines to deal
	full                   // has no room for another round
	bad                    // has failed
)

// agree returns the states of all ranks, and lets them fail together: if any has
// a failure, all return that of the first one. Without it a rank that cannot go
// on would leave the others waiting in their next exchange.
func agree(ctx context.Context, team *symwin.Team, s state, f *failure) (state, error) {
	if f != nil {
		s |= bad
	}
	states := []state{s}
	if err := symwin.AllReduce(ctx, team, states, states, symwin.Or); err != nil {
		return bad, err
	}
	if states[0]&bad == 0 {
		return states[0], nil
	}

	var mine []byte
	if f != nil {
		mine = append([]byte{byte(f.status)}, f.text[:min(len(f.text), tooLongToTell)]...)
	}
	all, counts := make([]byte, team.Size()*(1+tooLongToTell)), make([]int, team.Size())
	if err := symwin.AllGatherv(ctx, team, all, counts, mine); err != nil {
		return bad, err
	}
	for _, n := range counts {
		if n > 0 {
			return bad, &failure{int(all[0]), string(all[1:n])}
		}
		all = all[n:]
	}
	return bad, errors.New("a rank failed and did not say how")
}
