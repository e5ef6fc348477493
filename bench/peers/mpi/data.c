/* What is sent, and whether it arrived. */
#include "peer.h"
#include <sys/mman.h>

int64_t turn;
int draining;

/* Page-aligned, and taken from the machine only where it is used. */
void *memory(int64_t bytes)
{
	void *m = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED) {
		fprintf(stderr, "no memory for %lld bytes\n", (long long)bytes);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return m;
}

/* No two streams of a turn have a word in common at one place, so what comes from
   another rank, another turn or another place is found. */
static uint64_t seed(int from, int dest, int slot)
{
	return (uint64_t)turn * 0x9e3779b97f4a7c15u + ((uint64_t)from << 52) + ((uint64_t)dest << 40) + ((uint64_t)slot << 33);
}

/* Data that is made inside the clock is made as fast as memory takes it: it
   counts. All other data is mixed, so that no byte can be guessed from another. */
static inline uint64_t word(uint64_t seed, int64_t i)
{
	uint64_t x = seed + i;
	if (job.touch == TOUCH_FULL)
		return x;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

void fill(char *to, int64_t bytes, int from, int dest, int slot)
{
	uint64_t s = seed(from, dest, slot), *words = (uint64_t *)to;
	int64_t n = bytes / 8;
	if (job.touch == TOUCH_FULL)
		for (int64_t i = 0; i < n; i++)
			words[i] = s + i;
	else
		for (int64_t i = 0; i < n; i++)
			words[i] = word(s, i);
	uint64_t last = word(s, n);
	memcpy(to + 8 * n, &last, bytes % 8);
}

static int64_t differing(uint64_t x)
{
	int64_t n = 0;
	for (; x; x >>= 8)
		n += (x & 0xff) != 0;
	return n;
}

int64_t differs(const char *got, int64_t bytes, int from, int dest, int slot)
{
	uint64_t s = seed(from, dest, slot), last = 0, want = word(s, bytes / 8);
	int64_t wrong = 0, n = bytes / 8;
	for (int64_t i = 0; i < n; i++) {
		uint64_t is;
		memcpy(&is, got + 8 * i, 8);
		wrong += differing(is ^ word(s, i));
	}
	memcpy(&last, got + 8 * n, bytes % 8);
	if (bytes % 8)
		wrong += differing((last ^ want) & (((uint64_t)1 << 8 * (bytes % 8)) - 1));
	return wrong;
}

/* Floats are small whole numbers, so any order of adding them gives the same. */
static inline float number(int64_t i, int from)
{
	return draining ? 0 : (float)((uint32_t)(turn * 7 + i * 3 + from) & 127);
}

void fill_floats(float *to, int64_t count, int from)
{
	uint32_t at = (uint32_t)(turn * 7 + from);
	if (draining)
		memset(to, 0, count * 4);
	else
		for (int64_t i = 0; i < count; i++)
			to[i] = (float)(int32_t)((at + (uint32_t)i * 3) & 127);
}

/* got are the sums of all ranks' numbers from the given one on. */
int64_t differs_sum(const float *got, int64_t from, int64_t count)
{
	float sums[128];
	for (int64_t i = 0; i < 128; i++) {
		sums[i] = 0;
		for (int r = 0; r < ranks; r++)
			sums[i] += number(from + i, r); /* the numbers repeat after 128 */
	}
	int64_t wrong = 0;
	for (int64_t i = 0; i < count; i++) {
		uint32_t is, want;
		memcpy(&is, got + i, 4);
		memcpy(&want, sums + i % 128, 4);
		wrong += differing(is ^ want);
	}
	return wrong;
}

/* What one rank sends another in a skewed all-to-all; bytes is the mean. */
int64_t skewed(int64_t bytes, int from, int to) { return bytes * (1 + (from + to) % 4) * 2 / 5; }

/* The receiver's own share: it looks at every byte. */
static volatile uint64_t seen;

void touch(const char *got, int64_t bytes)
{
	uint64_t sum = 0;
	const uint64_t *words = (const uint64_t *)got;
	for (int64_t i = 0; i < bytes / 8; i++)
		sum += words[i];
	for (int64_t i = bytes & ~7; i < bytes; i++)
		sum += (unsigned char)got[i];
	seen = sum;
}
