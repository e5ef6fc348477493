package peers

import "context"

// RankCommand is the hidden first argument with which the peers "unix" and "pipe"
// start this program again, as each of their ranks; what follows is RankMain's.
const RankCommand = "bench-peer"

// RankMain is a rank of the peers "unix" and "pipe".
func RankMain(context.Context, []string) int { return 1 }
