// Package peers runs what symwin is compared with: Open MPI and MPICH, MPI's own
// shared windows, UCX, Unix sockets and pipes, each in processes of its own on
// the CPUs that symwin's ranks have. "shmrun bench --peer" is its user.
//
// The invariants. A peer is measured by the rules that hold for symwin: blocks of
// operations, a block taking as long as its slowest rank says, fresh data in
// every round of which every byte is compared outside the clock. A peer is
// treated well: built with -O3 for this machine, warmed up, bound as symwin is,
// with the transports it chooses itself, and yielding where ranks share CPUs. And
// a peer is never in the way: outside [Peer.Measure] all its processes are
// stopped or gone, and after [Peer.Close], or the end of the process that opened
// it, even by SIGKILL, nothing of it is left, no process and no file but the
// compiled program in the user's cache directory.
//
// The MPI program is ours, in the folder mpi, and compiled when it is first needed
// by the mpicc that is installed. So nothing but Debian's packages is needed.
package peers
