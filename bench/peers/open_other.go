//go:build !linux

package peers

import (
	"context"
	"errors"
)

// RankCommand is the hidden first argument with which the peers "unix" and "pipe"
// start this program again, as each of their ranks; what follows is RankMain's.
const RankCommand = "bench-peer"

// RankMain is a rank of the peers "unix" and "pipe", of which there are none here.
func RankMain(context.Context, []string) int { return 1 }

func open(context.Context, string, Job) (Peer, error) { return nil, errors.ErrUnsupported }

func availableShared() int64 { return 0 }
