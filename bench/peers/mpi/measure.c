/* How time is taken: operations run back to back in blocks, each rank takes the
   time of each of its blocks, and a block took as long as its slowest rank says. */
#include "peer.h"
#include <time.h>

enum { MAX_BLOCKS = 4096, MIN_BLOCKS = 3 };
static int64_t times[MAX_BLOCKS], slowest[MAX_BLOCKS];

int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* blocks times n blocks after one operation that is not timed: it brings the
   ranks in step. */
static void blocks(const struct operation *op, int64_t *times, int n, int64_t ops)
{
	op->run(1);
	int64_t begin = now();
	for (int k = 0; k < n; k++) {
		op->run(ops);
		int64_t end = now();
		times[k] = end - begin;
		begin = end;
	}
}

/* The plan of the size that was measured last; slices of one row come again and
   again. */
static struct {
	int64_t bytes, shortest, ops, each;
} plan = {-1};

/* calibrate finds out how many operations make a block of at least shortest with
   a margin, since the machine may become faster. A lap may be disturbed, and the
   first ones meet cold caches, so the fastest of three counts. */
static void calibrate(const struct operation *op, int64_t bytes, int64_t shortest)
{
	double wanted = 1.25 * shortest;
	int64_t ops = 1, fastest;
	for (;;) {
		fastest = 0;
		for (int k = 0; k < 3; k++) {
			int64_t one, all;
			meet_all();
			blocks(op, &one, 1, ops);
			COLLECTIVE(MPI_Allreduce, MPI_Iallreduce, &one, &all, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
			if (k == 0 || all < fastest)
				fastest = all;
		}
		if (fastest >= wanted)
			break;
		double grow = wanted / most(fastest, 1);
		ops = most(ops + 1, ops * (grow < 10 ? grow : 10) + 1);
	}
	plan.bytes = bytes, plan.shortest = shortest;
	plan.ops = ops, plan.each = most(fastest / ops, 1);
}

static int64_t wrong;
static int damaged;

/* round begins and verifies a piece of work on data of its own. */
static void begin_round(const struct operation *op)
{
	turn++;
	if (op->load)
		op->load();
	meet_all();
}

static void end_round(const struct operation *op)
{
	if (job.fault == rank && !damaged && op->arrived) {
		*op->arrived() ^= 1;
		damaged = 1;
	}
	if (job.check && op->wrong)
		wrong += op->wrong();
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* measure takes one slice, and rank 0 answers with it. */
void measure(const struct operation *op, struct point p)
{
	const char *why = NULL;
	int64_t verified = op->size ? op->size(p.bytes, &why) : 0;
	if (why) {
		if (rank == 0)
			printf("cannot %s\n", why);
		return;
	}
	/* Three rounds are the least that shows data from the round before last. */
	int rounds = verified > 1 << 20 ? 3 : 8;
	int known = p.bytes == plan.bytes && p.shortest == plan.shortest;
	wrong = 0;
	for (int k = 0; k < (known ? 1 : rounds); k++) {
		begin_round(op);
		op->run(1);
		end_round(op);
	}
	draining = op->accumulates && job.in_place && job.touch != TOUCH_FULL;
	if (draining)
		begin_round(op);
	/* Either way the caches are warm after it: others have run meanwhile. */
	if (known)
		op->run(plan.ops);
	else {
		op->run(job.warmup);
		calibrate(op, p.bytes, p.shortest);
	}
	int64_t ops = plan.ops, n = least(most(p.budget / (plan.each * plan.ops), MIN_BLOCKS), MAX_BLOCKS);
	if (p.iters > 0) {
		/* More than there is room for: longer blocks. */
		ops = most(ops, (p.iters + MAX_BLOCKS - 1) / MAX_BLOCKS);
		n = (p.iters + ops - 1) / ops;
	}
	rounds = least(rounds, n);
	for (int k = 0; k < rounds; k++) {
		int from = n * k / rounds, up_to = n * (k + 1) / rounds;
		begin_round(op);
		blocks(op, times + from, up_to - from, ops);
		end_round(op);
	}
	draining = 0;
	int64_t all = 0;
	COLLECTIVE(MPI_Reduce, MPI_Ireduce, times, slowest, n, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
	COLLECTIVE(MPI_Reduce, MPI_Ireduce, &wrong, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	int64_t median = 0;
	if (rank == 0) {
		printf("slice %lld %lld %lld", (long long)(ops * (op->counts ? op->counts : 1)), (long long)all, (long long)n);
		for (int k = 0; k < n; k++)
			printf(" %lld", (long long)slowest[k]);
		printf("\n");
		qsort(slowest, n, sizeof *slowest, ascending);
		median = slowest[n / 2];
	}
	/* A machine that has become faster or slower since is calibrated anew. */
	COLLECTIVE(MPI_Bcast, MPI_Ibcast, &median, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
	if (median < p.shortest || median > 3 * plan.each * ops)
		plan.bytes = -1;
	else
		plan.each = most(median / ops, 1);
}
