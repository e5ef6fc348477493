/* One set of processes that measures one operation, at whatever sizes the lines
   on rank 0's standard input ask for:

     measure BYTES SHORTEST_NS BUDGET_NS ITERS

   and each is answered by one line on standard output:

     slice OPS WRONG N NS…     N blocks of OPS operations each
     cannot WHY

   The first line is "ready", or "cannot WHY" or "failed WHY". The end of the input
   ends the program. */
#define _GNU_SOURCE
#include "peer.h"
#include <errno.h>
#include <time.h>

struct job job = {.fault = -1};
int rank, ranks;

/* own reads the CPUs of one rank from a list such as 0-1:2,4 (one for each rank,
   or one for all). */
static int own(const char *lists, int rank, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (; rank > 0 && strchr(lists, ':'); rank--)
		lists = strchr(lists, ':') + 1;
	for (;;) {
		char *end;
		long first = strtol(lists, &end, 10), last = first;
		if (end == lists)
			return 0;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, set);
		if (*end != ',')
			return 1;
		lists = end + 1;
	}
}

/* What both launchers tell a rank before MPI_Init. */
static int rank_by_launcher(void)
{
	const char *r = getenv("OMPI_COMM_WORLD_RANK");
	if (!r)
		r = getenv("PMI_RANK");
	return r ? atoi(r) : 0;
}

static const char *option(int argc, char **argv, const char *name)
{
	size_t n = strlen(name);
	for (int k = 1; k < argc; k++)
		if (!strncmp(argv[k], name, n) && argv[k][n] == '=')
			return argv[k] + n + 1;
	return NULL;
}

static int64_t whole(int argc, char **argv, const char *name, int64_t otherwise)
{
	const char *text = option(argc, argv, name);
	return text ? strtoll(text, NULL, 10) : otherwise;
}

static const struct operation *find(const char *name)
{
	const struct operation *const mpi[] = {messages, collectives, onesided, NULL};
	const struct operation *const shared[] = {window, NULL};
	for (const struct operation *const *t = job.shared ? shared : mpi; *t; t++)
		for (const struct operation *o = *t; o->name; o++)
			if (!strcmp(o->name, name))
				return o;
	return NULL;
}

/* next is the next command on all ranks; those that have none to read sleep, so
   that they are not in the way of the launcher that forwards it. */
static int next(struct point *command)
{
	char line[256];
	command->bytes = -1;
	if (rank == 0) {
		fflush(stdout);
		long long b, s, t, n;
		if (fgets(line, sizeof line, stdin) && sscanf(line, "measure %lld %lld %lld %lld", &b, &s, &t, &n) == 4)
			*command = (struct point){b, s, t, n};
	}
	MPI_Request request;
	int done = 0;
	MPI_Ibcast(command, sizeof *command / sizeof(int64_t), MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
	for (;;) {
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		if (done)
			return command->bytes >= 0;
		if (rank != 0)
			nanosleep(&(struct timespec){0, 50000}, NULL);
	}
}

int main(int argc, char **argv)
{
	/* For tests: what a skewed all-to-all sends, without any MPI. */
	int64_t mean = whole(argc, argv, "skewed", 0), n = whole(argc, argv, "ranks", 1);
	if (mean > 0) {
		for (int64_t k = 0; k < n * n; k++)
			printf("%lld ", (long long)skewed(mean, k / n, k % n));
		return 0;
	}

	/* Bound before MPI_Init, so that MPI sees it and its threads and memory follow;
	   checked after, because it might have had ideas of its own. */
	const char *cpus = option(argc, argv, "cpus");
	cpu_set_t wanted, is;
	CPU_ZERO(&wanted);
	int bound = 1;
	if (cpus)
		bound = own(cpus, rank_by_launcher(), &wanted) && sched_setaffinity(0, sizeof wanted, &wanted) == 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const char *touch = option(argc, argv, "touch");
	job.op = option(argc, argv, "op");
	job.touch = !touch || !strcmp(touch, "none") ? TOUCH_NONE : strcmp(touch, "full") ? TOUCH_READ : TOUCH_FULL;
	job.max_bytes = whole(argc, argv, "max", 0);
	job.shared = whole(argc, argv, "shared", 0);
	job.skew = whole(argc, argv, "skew", 0) && job.op && !strcmp(job.op, "alltoallv");
	job.in_place = whole(argc, argv, "inplace", 0);
	job.check = whole(argc, argv, "check", 0);
	job.yield = whole(argc, argv, "yield", 0);
	job.warmup = whole(argc, argv, "warmup", 0);
	job.fault = whole(argc, argv, "fault", -1);

	if (cpus && bound)
		bound = own(cpus, rank, &wanted) && sched_getaffinity(0, sizeof is, &is) == 0 && CPU_EQUAL(&wanted, &is);
	int all_bound, expected = whole(argc, argv, "ranks", ranks);
	MPI_Allreduce(&bound, &all_bound, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	const char *failed = NULL, *why = NULL;
	const struct operation *op = job.op ? find(job.op) : NULL;
	if (ranks != expected)
		failed = "the launcher started another number of ranks";
	else if (!all_bound)
		failed = "a rank is not bound to the CPUs it was given";
	else if (!op)
		why = "there is no such operation";
	else if (op->open)
		op->open(&why);
	if (rank == 0)
		printf("%s%s\n", failed ? "failed " : why ? "cannot " : "ready", failed ? failed : why ? why : "");

	struct point command;
	while (!failed && !why && next(&command))
		measure(op, command);
	fflush(stdout);
	if (!failed && op && op->close)
		op->close();
	MPI_Finalize();
	return 0;
}
