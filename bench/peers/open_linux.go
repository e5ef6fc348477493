package peers

import "context"

// open finds the kind of a peer.
func open(ctx context.Context, name string, j Job) (Peer, error) {
	switch name {
	case "openmpi":
		if j.Op == "startup" {
			return openStartup(ctx, name, openMPI, j)
		}
		return openMPIPeer(ctx, name, openMPI, j, false)
	case "mpich":
		if j.Op == "startup" {
			return openStartup(ctx, name, mpich, j)
		}
		return openMPIPeer(ctx, name, mpich, j, false)
	case "shmwin":
		// Open MPI's barrier takes less than half of MPICH's time, on two ranks and,
		// yielding, on more than there are CPUs.
		m := openMPI
		if !m.installed(true) && mpich.installed(true) {
			m = mpich
		}
		return openMPIPeer(ctx, name, m, j, true)
	}
	if name == "ucx" {
		return openUCX(ctx, j)
	}
	return openStreams(ctx, name, j)
}
