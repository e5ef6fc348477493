/* One small MPI program that measures what "shmrun bench" measures, by the same
   rules: main.c follows commands, measure.c takes the time, data.c makes and
   checks what is sent, and the others hold one family of operations each. */
#pragma once
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum touch { TOUCH_NONE, TOUCH_READ, TOUCH_FULL };

/* What the command line said, the same on all ranks. */
extern struct job {
	const char *op;
	int64_t max_bytes;
	enum touch touch;
	int shared; /* operations of window.c, not MPI's */
	int skew, in_place, check, yield;
	int64_t warmup; /* operations before the first block of a size */
	int fault; /* for tests: the rank that damages one byte it has received, or -1 */
} job;
extern int rank, ranks;

/* An operation. Functions that are missing have nothing to do. */
struct operation {
	const char *name;
	/* open allocates for job.max_bytes; size prepares for one size and returns
	   what one round verifies on this rank. Both are collective, and may say in
	   *why that it cannot be. */
	void (*open)(const char **why);
	int64_t (*size)(int64_t bytes, const char **why);
	/* run does n operations, inside the clock. */
	void (*run)(int64_t n);
	/* load puts new data where it is sent from, wrong counts the bytes that did
	   not arrive as sent, arrived is where they arrive; outside the clock. */
	void (*load)(void);
	int64_t (*wrong)(void);
	char *(*arrived)(void);
	/* close gives back what open took of MPI; collective. */
	void (*close)(void);
	int counts;      /* what one operation counts as: 2 where it is a round trip; 0: 1 */
	int accumulates; /* done again on its own result, in place, it sums up more and more */
};
extern const struct operation messages[], collectives[], onesided[], window[];

/* measure.c */
struct point {
	/* iters: operations inside the clock, rounded up to whole blocks; 0: as many
	   as fit into the budget */
	int64_t bytes, shortest, budget, iters;
};
void measure(const struct operation *op, struct point p);
int64_t now(void);

/* data.c */
extern int64_t turn; /* which data is being sent; all ranks agree */
extern int draining; /* sums are of zeros: see accumulates */
void *memory(int64_t bytes);
void fill(char *to, int64_t bytes, int from, int dest, int slot);
int64_t differs(const char *got, int64_t bytes, int from, int dest, int slot);
void fill_floats(float *to, int64_t count, int from);
int64_t differs_sum(const float *got, int64_t from, int64_t count);
int64_t skewed(int64_t bytes, int from, int to);
void touch(const char *got, int64_t bytes);

/* renew is the sender's new data of one operation, where that is in the clock. */
static inline void renew(void) { turn += job.touch == TOUCH_FULL; }

/* A library that cannot be told to yield would hold the CPU for its whole turn
   while it waits for a rank that has none. With it, what waits is begun, and looked
   at between yields: an all-to-all of 8 ranks on 2 CPUs took MPICH 12.7 ms in the
   call that waits itself, and 0.042 like this. Open MPI yields inside its own calls,
   and is faster in them. */
#ifdef OPEN_MPI
enum { YIELDS_ITSELF = 1 };
#else
enum { YIELDS_ITSELF = 0 };
#endif

static inline int outside(void) { return job.yield && !YIELDS_ITSELF; }

static inline void finish(int n, MPI_Request *requests)
{
	int done = 0;
	if (!outside())
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	else
		for (MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE); !done; MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE))
			sched_yield();
}

/* COLLECTIVE is a call by its two names, the one that waits and the one that does
   not, with all arguments they share. */
#define COLLECTIVE(waiting, beginning, ...)                                                                                                                    \
	do {                                                                                                                                                   \
		if (outside()) {                                                                                                                               \
			MPI_Request begun;                                                                                                                     \
			beginning(__VA_ARGS__, &begun);                                                                                                        \
			finish(1, &begun);                                                                                                                     \
		} else                                                                                                                                         \
			waiting(__VA_ARGS__);                                                                                                                  \
	} while (0)

static inline void meet_all(void) { COLLECTIVE(MPI_Barrier, MPI_Ibarrier, MPI_COMM_WORLD); }

static inline void send(const void *from, int bytes, int to, int tag)
{
	MPI_Request begun;
	if (!outside()) {
		MPI_Send(from, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
		return;
	}
	MPI_Isend(from, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &begun);
	finish(1, &begun);
}

static inline void receive(void *to, int bytes, int from, int tag)
{
	MPI_Request begun;
	if (!outside()) {
		MPI_Recv(to, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return;
	}
	MPI_Irecv(to, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &begun);
	finish(1, &begun);
}

/* relax is what a rank does between two looks at a word that another will write. */
static inline void relax(void)
{
	if (job.yield)
		sched_yield();
#if defined(__x86_64__)
	else
		__builtin_ia32_pause();
#elif defined(__aarch64__)
	else
		__asm__ volatile("yield");
#endif
}
