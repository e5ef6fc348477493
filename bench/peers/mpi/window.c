/* What a program gets that does it by hand: one window that all ranks share,
   plain stores into it, and MPI's barrier.

   The window has two halves, and operations take turns. Whoever writes into a
   half again has passed the barrier of the operation between, and into that one
   everybody goes only when it has done with the half: one barrier an operation
   is enough. */
#include "peer.h"

static MPI_Win win = MPI_WIN_NULL;
static char **windows; /* by rank */
static char *out, *in;
static int64_t bytes, half, at; /* bytes of a half, and where the present one begins */

/* What one operation puts into each window. */
static void open_window(int64_t parts, int64_t send, int64_t receive)
{
	half = (job.max_bytes * parts + 4096 + 64) / 4096 * 4096;
	MPI_Info info;
	MPI_Info_create(&info);
	MPI_Info_set(info, "alloc_shared_noncontig", "true");
	char *mine;
	MPI_Win_allocate_shared(2 * half + 4096, 1, info, MPI_COMM_WORLD, &mine, &win);
	MPI_Info_free(&info);
	windows = calloc(ranks, sizeof *windows);
	for (int p = 0; p < ranks; p++) {
		MPI_Aint size;
		int unit;
		MPI_Win_shared_query(win, p, &size, &unit, &windows[p]);
	}
	memset(mine + 2 * half, 0, 4096);
	out = memory(job.max_bytes * send);
	in = memory(job.max_bytes * receive);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
	MPI_Win_sync(win);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void)
{
	if (win == MPI_WIN_NULL)
		return;
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

static void swap(void) { at = half - at; }

static void meet(void)
{
	MPI_Win_sync(win);
	meet_all();
	MPI_Win_sync(win);
}

static int64_t size(int64_t b, const char **why)
{
	return bytes = b;
}

static int64_t sizes(int64_t b, const char **why) { return ranks * size(b, why); }

static void barrier_open(const char **why) { open_window(0, 0, 0); }

static void barrier(int64_t n)
{
	for (; n > 0; n--)
		meet();
}

/* Each rank stores its part for every other one into that one's window. */

static char *present(void) { return windows[rank] + at; }

static void all_to_all_open(const char **why) { open_window(ranks, ranks, 0); }

static void all_to_all_load(void)
{
	for (int p = 0; p < ranks; p++)
		fill(out + p * bytes, bytes, rank, p, 0);
}

static int64_t all_to_all_wrong(void)
{
	int64_t n = 0;
	for (int p = 0; p < ranks; p++)
		n += differs(present() + p * bytes, bytes, p, rank, 0);
	return n;
}

static void all_to_all(int64_t n)
{
	for (; n > 0; n--) {
		if (job.touch == TOUCH_FULL) {
			turn++;
			all_to_all_load();
		}
		swap();
		/* Everybody begins with itself, so that no two write to one at a time. */
		for (int k = 0; k < ranks; k++) {
			int p = (rank + k) % ranks;
			memcpy(windows[p] + at + rank * bytes, out + p * bytes, bytes);
		}
		meet();
		if (job.touch != TOUCH_NONE)
			touch(present(), bytes * ranks);
	}
}

static void all_gather_open(const char **why) { open_window(ranks, 1, 0); }

static void all_gather_load(void) { fill(out, bytes, rank, 0, 0); }

static int64_t all_gather_wrong(void)
{
	int64_t n = 0;
	for (int p = 0; p < ranks; p++)
		n += differs(present() + p * bytes, bytes, p, 0, 0);
	return n;
}

static void all_gather(int64_t n)
{
	for (; n > 0; n--) {
		if (job.touch == TOUCH_FULL) {
			turn++;
			all_gather_load();
		}
		swap();
		for (int k = 0; k < ranks; k++)
			memcpy(windows[(rank + k) % ranks] + at + rank * bytes, out, bytes);
		meet();
		if (job.touch != TOUCH_NONE)
			touch(present(), bytes * ranks);
	}
}

/* Rank 0 stores into its own window, and the others fetch it. */

static void broadcast_open(const char **why) { open_window(1, 1, 1); }

static void broadcast_load(void)
{
	if (rank == 0)
		fill(out, bytes, 0, 0, 0);
}

static int64_t broadcast_wrong(void) { return rank == 0 ? 0 : differs(in, bytes, 0, 0, 0); }

static char *copied(void) { return in; }

static void broadcast(int64_t n)
{
	for (; n > 0; n--) {
		if (job.touch == TOUCH_FULL) {
			turn++;
			broadcast_load();
		}
		swap();
		if (rank == 0)
			memcpy(windows[0] + at, out, bytes);
		meet();
		if (rank != 0) {
			memcpy(in, windows[0] + at, bytes);
			if (job.touch != TOUCH_NONE)
				touch(in, bytes);
		}
	}
}

/* Vectors to this size are added by every rank for itself; of larger ones each
   rank adds a slice and stores the sums into all windows. */
enum { ONE_STEP = 4096 };

static void all_reduce_open(const char **why) { open_window(2, 1, 1); }

static int64_t float_size(int64_t b, const char **why)
{
	if (b % 4)
		*why = "bytes must hold whole floats";
	return size(b, why);
}

static void all_reduce_load(void) { fill_floats((float *)out, bytes / 4, rank); }

static char *sums(void) { return bytes <= ONE_STEP ? in : present() + job.max_bytes / 4 * 4; }
static int64_t all_reduce_wrong(void) { return differs_sum((float *)sums(), 0, bytes / 4); }

/* add is the sum of all ranks' numbers, from the given one on. */
static void add(float *to, int64_t from, int64_t count)
{
	memcpy(to, (float *)(windows[0] + at) + from, count * 4);
	for (int p = 1; p < ranks; p++) {
		const float *other = (float *)(windows[p] + at) + from;
		for (int64_t i = 0; i < count; i++)
			to[i] += other[i];
	}
}

static void all_reduce(int64_t n)
{
	int64_t count = bytes / 4, first = count * rank / ranks, mine = count * (rank + 1) / ranks - first;
	for (; n > 0; n--) {
		if (job.touch == TOUCH_FULL) {
			turn++;
			all_reduce_load();
		}
		swap();
		memcpy(windows[rank] + at, out, bytes);
		meet();
		if (bytes <= ONE_STEP)
			add((float *)in, 0, count);
		else {
			char *there = sums() + 4 * first;
			add((float *)there, first, mine);
			for (int k = 1; k < ranks; k++)
				memcpy(windows[(rank + k) % ranks] + (there - windows[rank]), there, 4 * mine);
			meet();
		}
		if (job.touch != TOUCH_NONE)
			touch(sums(), bytes);
	}
}

/* Between pairs: data and then a flag, both stored straight into the partner's
   window. latency also copies out what has come; for put it has arrived. */

static int64_t seen;
static int partner, copies_out;

static void pair_open(const char **why)
{
	if (ranks % 2) {
		*why = "it is between pairs of ranks";
		return;
	}
	partner = rank ^ 1;
	copies_out = !strcmp(job.op, "latency");
	open_window(1, 1, 1);
}

static volatile int64_t *flag(int rank) { return (int64_t *)(windows[rank] + 2 * half); }

static void pair_load(void) { fill(out, bytes, rank, partner, 0); }
static char *got(void) { return copies_out ? in : windows[rank]; }
static int64_t pair_wrong(void) { return differs(got(), bytes, partner, rank, 0); }

static void send_one(void)
{
	if (job.touch == TOUCH_FULL)
		pair_load();
	memcpy(windows[partner], out, bytes);
	__atomic_store_n(flag(partner), seen + 1, __ATOMIC_RELEASE);
}

static void receive_one(void)
{
	while (__atomic_load_n(flag(rank), __ATOMIC_ACQUIRE) != seen + 1)
		relax();
	if (copies_out)
		memcpy(in, windows[rank], bytes);
	if (job.touch != TOUCH_NONE)
		touch(got(), bytes);
}

static void pair(int64_t n)
{
	for (; n > 0; n--) {
		renew();
		if (rank % 2 == 0) {
			send_one();
			receive_one();
		} else {
			receive_one();
			send_one();
		}
		seen++;
	}
}

const struct operation window[] = {
	{"barrier", barrier_open, .run = barrier, .close = close_window},
	{"alltoall", all_to_all_open, sizes, all_to_all, all_to_all_load, all_to_all_wrong, present, close_window},
	{"allgather", all_gather_open, sizes, all_gather, all_gather_load, all_gather_wrong, present, close_window},
	{"broadcast", broadcast_open, size, broadcast, broadcast_load, broadcast_wrong, copied, close_window},
	{"allreduce", all_reduce_open, float_size, all_reduce, all_reduce_load, all_reduce_wrong, sums, close_window},
	{"latency", pair_open, size, pair, pair_load, pair_wrong, got, close_window, .counts = 2},
	{"put", pair_open, size, pair, pair_load, pair_wrong, got, close_window, .counts = 2},
	{NULL},
};
