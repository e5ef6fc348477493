/* MPI's own collective operations, on all ranks, with root 0. */
#include "peer.h"

static char *out, *in;
static int64_t bytes;
static int *out_count, *out_at, *in_count, *in_at; /* all-to-all: by peer */

/* How many times bytes each rank sends and receives, all peers together. */
static int64_t parts_out, parts_in;

static void open_parts(int64_t send, int64_t receive)
{
	parts_out = send, parts_in = receive;
	/* Skewed counts are up to 8/5 of the mean. */
	out = memory(job.max_bytes * send * (job.skew ? 2 : 1));
	in = memory(job.max_bytes * receive * (job.skew ? 2 : 1));
}

static int64_t size(int64_t b, const char **why)
{
	bytes = b;
	if ((parts_out > parts_in ? parts_out : parts_in) * b * (job.skew ? 2 : 1) >= 1ll << 31)
		*why = "MPI counts to 2 GiB";
	return (parts_out > parts_in ? parts_out : parts_in) * bytes;
}

static char *arrived(void) { return in; }

/* The loop of all of them. */
#define REPEAT(renewal, call, received)                                                                                                                        \
	for (; n > 0; n--) {                                                                                                                                   \
		if (job.touch == TOUCH_FULL) {                                                                                                                 \
			turn++;                                                                                                                                \
			renewal;                                                                                                                               \
		}                                                                                                                                              \
		call;                                                                                                                                          \
		if (job.touch != TOUCH_NONE)                                                                                                                   \
			touch(in, received);                                                                                                                   \
	}

static void barrier(int64_t n)
{
	for (; n > 0; n--)
		meet_all();
}

/* All to all. In place each rank sends from where it receives, so two in a row
   give everybody back what was its own. */

static int64_t swaps;

static int64_t count(int from, int to)
{
	return job.skew ? skewed(bytes, from, to) : bytes;
}

static void all_to_all_open(const char **why)
{
	open_parts(ranks, ranks);
	out_count = calloc(4 * ranks, sizeof *out_count);
	out_at = out_count + ranks, in_count = out_at + ranks, in_at = in_count + ranks;
}

static int64_t all_to_all_size(int64_t b, const char **why)
{
	int64_t all = size(b, why);
	for (int p = 0; p < ranks; p++) {
		out_count[p] = count(rank, p), in_count[p] = count(p, rank);
		out_at[p] = p ? out_at[p - 1] + out_count[p - 1] : 0;
		in_at[p] = p ? in_at[p - 1] + in_count[p - 1] : 0;
	}
	return all;
}

static void all_to_all_load(void)
{
	char *from = job.in_place ? in : out;
	for (int p = 0; p < ranks; p++)
		fill(from + out_at[p], out_count[p], rank, p, 0);
	swaps = 0;
}

static int64_t all_to_all_wrong(void)
{
	int64_t n = 0;
	int own = job.in_place && swaps % 2 == 0;
	for (int p = 0; p < ranks; p++)
		n += differs(in + in_at[p], in_count[p], own ? rank : p, own ? p : rank, 0);
	return n;
}

static void all_to_all(int64_t n)
{
	const void *from = job.in_place ? MPI_IN_PLACE : out;
	REPEAT(all_to_all_load(), {
		COLLECTIVE(MPI_Alltoall, MPI_Ialltoall, from, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
		swaps++;
	}, bytes * ranks)
}

static void all_to_all_v(int64_t n)
{
	const void *from = job.in_place ? MPI_IN_PLACE : out;
	REPEAT(all_to_all_load(), {
		COLLECTIVE(MPI_Alltoallv, MPI_Ialltoallv, from, out_count, out_at, MPI_BYTE, in, in_count, in_at, MPI_BYTE, MPI_COMM_WORLD);
		swaps++;
	}, in_at[ranks - 1] + in_count[ranks - 1])
}

/* Every rank's part to every rank, or to rank 0. */

static void gather_open(const char **why) { open_parts(1, ranks); }

static char *own_part(void) { return job.in_place ? in + rank * bytes : out; }

static void own_load(void) { fill(own_part(), bytes, rank, 0, 0); }

static int64_t all_parts_wrong(void)
{
	int64_t n = 0;
	for (int p = 0; p < ranks; p++)
		n += differs(in + p * bytes, bytes, p, 0, 0);
	return n;
}

static int64_t root_parts_wrong(void) { return rank == 0 ? all_parts_wrong() : 0; }

static void all_gather(int64_t n)
{
	const void *from = job.in_place ? MPI_IN_PLACE : out;
	REPEAT(own_load(), COLLECTIVE(MPI_Allgather, MPI_Iallgather, from, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD), bytes * ranks)
}

static void gather(int64_t n)
{
	const void *from = job.in_place && rank == 0 ? MPI_IN_PLACE : own_part();
	REPEAT(own_load(), COLLECTIVE(MPI_Gather, MPI_Igather, from, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD), rank == 0 ? bytes * ranks : 0)
}

/* Rank 0's parts to every rank. */

static void scatter_open(const char **why) { open_parts(ranks, 1); }

static void scatter_load(void)
{
	for (int p = 0; rank == 0 && p < ranks; p++)
		fill(out + p * bytes, bytes, 0, p, 0);
}

static int in_its_place(void) { return job.in_place && rank == 0; }

static int64_t scatter_wrong(void) { return in_its_place() ? 0 : differs(in, bytes, 0, rank, 0); }

static void scatter(int64_t n)
{
	void *to = in_its_place() ? MPI_IN_PLACE : in;
	REPEAT(scatter_load(), COLLECTIVE(MPI_Scatter, MPI_Iscatter, out, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, MPI_COMM_WORLD), in_its_place() ? 0 : bytes)
}

static void broadcast_open(const char **why) { open_parts(0, 1); }

static void broadcast_load(void)
{
	if (rank == 0)
		fill(in, bytes, 0, 0, 0);
}

static int64_t broadcast_wrong(void) { return rank == 0 ? 0 : differs(in, bytes, 0, 0, 0); }

static void broadcast(int64_t n)
{
	REPEAT(broadcast_load(), COLLECTIVE(MPI_Bcast, MPI_Ibcast, in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD), rank == 0 ? 0 : bytes)
}

/* Sums of floats: a vector of bytes, or for the scattered one a part of bytes for
   each rank. */

static void reduce_open(const char **why) { open_parts(1, 1); }
static void reduce_scatter_open(const char **why) { open_parts(ranks, ranks); }

static int64_t float_size(int64_t b, const char **why)
{
	if (b % 4)
		*why = "bytes must hold whole floats";
	return size(b, why);
}

/* Of reduce, only the root can have its vector where the sum goes. */
static char *addend(void) { return job.in_place && (rank == 0 || strcmp(job.op, "reduce")) ? in : out; }

static void reduce_load(void) { fill_floats((float *)addend(), parts_out * bytes / 4, rank); }

static int64_t all_reduce_wrong(void) { return differs_sum((float *)in, 0, bytes / 4); }
static int64_t reduce_wrong(void) { return rank == 0 ? all_reduce_wrong() : 0; }
static int64_t reduce_scatter_wrong(void) { return differs_sum((float *)in, rank * bytes / 4, bytes / 4); }

static void all_reduce(int64_t n)
{
	const void *from = job.in_place ? MPI_IN_PLACE : out;
	REPEAT(reduce_load(), COLLECTIVE(MPI_Allreduce, MPI_Iallreduce, from, in, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD), bytes)
}

static void reduce(int64_t n)
{
	const void *from = addend() == in ? MPI_IN_PLACE : out;
	REPEAT(reduce_load(), COLLECTIVE(MPI_Reduce, MPI_Ireduce, from, in, bytes / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD), rank == 0 ? bytes : 0)
}

static void reduce_scatter(int64_t n)
{
	const void *from = job.in_place ? MPI_IN_PLACE : out;
	REPEAT(reduce_load(), COLLECTIVE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, from, in, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD), bytes)
}

const struct operation collectives[] = {
	{"barrier", .run = barrier},
	{"alltoall", all_to_all_open, all_to_all_size, all_to_all, all_to_all_load, all_to_all_wrong, arrived},
	{"alltoallv", all_to_all_open, all_to_all_size, all_to_all_v, all_to_all_load, all_to_all_wrong, arrived},
	{"allgather", gather_open, size, all_gather, own_load, all_parts_wrong, arrived},
	{"gather", gather_open, size, gather, own_load, root_parts_wrong, arrived},
	{"scatter", scatter_open, size, scatter, scatter_load, scatter_wrong, arrived},
	{"broadcast", broadcast_open, size, broadcast, broadcast_load, broadcast_wrong, arrived},
	{"allreduce", reduce_open, float_size, all_reduce, reduce_load, all_reduce_wrong, arrived, .accumulates = 1},
	{"reduce", reduce_open, float_size, reduce, reduce_load, reduce_wrong, arrived, .accumulates = 1},
	{"reducescatter", reduce_scatter_open, float_size, reduce_scatter, reduce_load, reduce_scatter_wrong, arrived, .accumulates = 1},
	{NULL},
};
