/* put: a one-sided put and a flag behind it, half a round trip. */
#include "peer.h"

static MPI_Win win = MPI_WIN_NULL;
static char *window_memory, *out;
static volatile int64_t *flag;
static int64_t bytes, flag_at, seen, partner;

static void put_open(const char **why)
{
	if (ranks % 2) {
		*why = "it is between pairs of ranks";
		return;
	}
	int64_t all = (job.max_bytes + 127) / 64 * 64;
	int *model, set;
	partner = rank ^ 1;
	flag_at = all;
	out = memory(job.max_bytes);
	/* Each in the kind of window in which its puts are faster: 8 bytes took Open MPI
	   0.17 us in a shared one and 0.28 in the other, MPICH 2.4 and 1.5. */
#ifdef OPEN_MPI
	MPI_Win_allocate_shared(all + 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &win);
#else
	MPI_Win_allocate(all + 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &win);
#endif
	MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &set);
	if (!set || *model != MPI_WIN_UNIFIED)
		*why = "its windows need a copy on arrival";
	flag = (int64_t *)(window_memory + flag_at);
	*flag = 0;
	MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
	MPI_Win_sync(win);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void put_close(void)
{
	if (win == MPI_WIN_NULL)
		return;
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

static int64_t put_size(int64_t b, const char **why)
{
	if (b >= 1ll << 31)
		*why = "MPI counts to 2 GiB";
	return bytes = b;
}

static void put_load(void) { fill(out, bytes, rank, partner, 0); }
static int64_t put_wrong(void) { return differs(window_memory, bytes, partner, rank, 0); }
static char *put_arrived(void) { return window_memory; }

static void send_one(void)
{
	int64_t value = seen + 1;
	if (job.touch == TOUCH_FULL)
		put_load();
	MPI_Put(out, bytes, MPI_BYTE, partner, 0, bytes, MPI_BYTE, win);
	MPI_Win_flush(partner, win);
	MPI_Put(&value, 8, MPI_BYTE, partner, flag_at, 8, MPI_BYTE, win);
	MPI_Win_flush(partner, win);
}

/* Where puts are plain stores the flag comes by itself; where they are messages
   somebody has to take them out: a look at MPI now and then. */
static void receive_one(void)
{
	for (unsigned looks = 1; *flag != seen + 1; looks++) {
		relax();
		if (looks % 64 == 0) {
			int any;
			MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
		}
	}
	MPI_Win_sync(win);
	if (job.touch != TOUCH_NONE)
		touch(window_memory, bytes);
}

static void put(int64_t n)
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

const struct operation onesided[] = {
	{"put", put_open, put_size, put, put_load, put_wrong, put_arrived, put_close, .counts = 2},
	{NULL},
};
