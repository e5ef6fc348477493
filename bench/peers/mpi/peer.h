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
void measure(const struct operation *op, int64_t bytes, int64_t shortest, int64_t budget);
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
