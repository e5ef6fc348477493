package symwin

import (
	"context"

	"github.com/symwin/symwin/symmem"
)

// Barrier returns when every rank of team has called it. What a rank stored
// before, into any window, is visible to all after it. It is Team.Barrier: no
// data, no engine, two words. Errors and concurrency as AllToAll. MPI_Barrier.
func Barrier(ctx context.Context, team *Team) error {
	return named(symmem.OpBarrier, team.Barrier(ctx))
}
