/* Messages between neighbouring pairs of ranks: (0,1), (2,3) and so on. */
#include "peer.h"

enum { IN_FLIGHT = 64 };

static char *out, *in;
static int64_t bytes;
static int partner, sends, receives, slots;
static MPI_Request requests[2 * IN_FLIGHT];

static void open_slots(const char **why, int n)
{
	if (ranks % 2) {
		*why = "it is between pairs of ranks";
		return;
	}
	partner = rank ^ 1;
	slots = n;
	out = memory(job.max_bytes * n);
	in = memory(job.max_bytes * n);
}

static int64_t size(int64_t b, const char **why)
{
	if (b >= 1ll << 31)
		*why = "MPI counts to 2 GiB";
	bytes = b;
	return bytes * slots;
}

static void load(void)
{
	if (sends)
		for (int s = 0; s < slots; s++)
			fill(out + s * bytes, bytes, rank, partner, s);
}

static int64_t wrong(void)
{
	int64_t n = 0;
	if (receives)
		for (int s = 0; s < slots; s++)
			n += differs(in + s * bytes, bytes, partner, rank, s);
	return n;
}

static char *arrived(void) { return in; }

/* Half a round trip. */

static void latency_open(const char **why)
{
	open_slots(why, 1);
	sends = receives = 1;
}

static void send_one(void)
{
	if (job.touch == TOUCH_FULL)
		fill(out, bytes, rank, partner, 0);
	send(out, bytes, partner, 1);
}

static void receive_one(void)
{
	receive(in, bytes, partner, 1);
	if (job.touch != TOUCH_NONE)
		touch(in, bytes);
}

static void latency(int64_t n)
{
	if (rank % 2 == 0)
		for (; n > 0; n--) {
			renew();
			send_one();
			receive_one();
		}
	else
		for (; n > 0; n--) {
			renew();
			receive_one();
			send_one();
		}
}

/* Many messages in flight. Where nobody looks at them they share one buffer, as
   in OSU's programs, which is the kindest to the caches; else each has its own. */

static void bw_open(const char **why)
{
	open_slots(why, job.touch == TOUCH_NONE ? 1 : IN_FLIGHT);
	sends = rank % 2 == 0;
	receives = !sends;
}

static void bibw_open(const char **why)
{
	open_slots(why, job.touch == TOUCH_NONE ? 1 : IN_FLIGHT);
	sends = receives = 1;
}

static int64_t slot(int k) { return slots == 1 ? 0 : k * bytes; }

static void post(void)
{
	for (int k = 0; k < IN_FLIGHT; k++)
		MPI_Irecv(in + slot(k), bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &requests[k]);
}

static void send_all(MPI_Request *sent)
{
	for (int k = 0; k < IN_FLIGHT; k++) {
		if (job.touch == TOUCH_FULL)
			fill(out + slot(k), bytes, rank, partner, k);
		MPI_Isend(out + slot(k), bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &sent[k]);
	}
}

static void receive_all(void)
{
	if (job.touch == TOUCH_NONE) {
		finish(IN_FLIGHT, requests);
		return;
	}
	for (int k = 0; k < IN_FLIGHT; k++) {
		finish(1, &requests[k]);
		touch(in + slot(k), bytes);
	}
}

static void bw(int64_t n)
{
	char answer[4] = {0};
	for (; n > 0; n--) {
		renew();
		if (sends) {
			send_all(requests);
			finish(IN_FLIGHT, requests);
			receive(answer, sizeof answer, partner, 2);
		} else {
			post();
			receive_all();
			send(answer, sizeof answer, partner, 2);
		}
	}
}

static void bibw(int64_t n)
{
	for (; n > 0; n--) {
		renew();
		post();
		send_all(requests + IN_FLIGHT);
		finish(IN_FLIGHT, requests + IN_FLIGHT);
		receive_all();
	}
}

const struct operation messages[] = {
	{"latency", latency_open, size, latency, load, wrong, arrived, .counts = 2},
	{"bw", bw_open, size, bw, load, wrong, arrived, .counts = IN_FLIGHT},
	{"rate", bw_open, size, bw, load, wrong, arrived, .counts = IN_FLIGHT},
	{"bibw", bibw_open, size, bibw, load, wrong, arrived, .counts = 2 * IN_FLIGHT},
	{NULL},
};
