/* Epochs, regions and tags: the protocol of a session of package lla2a, by the
 * rules of package epoch.
 *
 * Three ranks play LAST epochs. What is sent in an epoch, and what of it is
 * received, follows one of the patterns below; which one is chosen freely for the
 * first two epochs and for the next two, and so on in turns. Any rank may be slow
 * for any time, or run ahead as far as it is let.
 *
 * Memory is x86's (TSO): stores go into a first-in-first-out buffer of the rank,
 * from where they reach memory at any later moment. The protocol itself needs no
 * locked instruction, and here it has none. Loads read memory. What a rank loads
 * of its own stores is cleared lines only; it looks for news in them when they
 * have reached memory, since a look before that finds nothing.
 *
 * What is stored in a line is who stored it in which epoch. Its tag is that of it
 * which a receiver may test, the rest is for assertions. A receiver waits, so data
 * that get lost are a deadlock ("invalid end state"); data that are taken for
 * others are an assertion.
 *
 * Steps are merged only where nobody can tell: plain stores into the own buffer,
 * and a rank's own arithmetic with the load or store before it.
 *
 * Variants:
 *   LAP=n      tags come round after n epochs (even)
 *   REGIONS=n  taken in turns, as boards of Blocks are
 *   HALVES     a line is two halves with a tag each, stored and loaded one by one
 *   CELL       an element with one tag: the tag is stored last and loaded first,
 *              and nothing else is tested
 * The MUTANT_… are mistakes; run.sh demands that each is found.
 */

#define N 3

#ifndef BUFFER
#define BUFFER 3 /* stores that a rank may be ahead of memory */
#endif

#ifndef LAST
#define LAST 5
#endif
#ifndef LAP
#define LAP 100 /* none */
#endif

#define TAG(v)   ((v) == 0 -> 0 : 1 + (EPOCH(v) % LAP))
#define WRAPS(i) ((i) % LAP == LAP - 1)

#ifndef REGIONS
#define REGIONS 2
#endif
#ifdef MUTANT_ONE_REGION
#define REGION(i) 0
#else
#define REGION(i) ((i) % REGIONS)
#endif

/* What is stored in a half, and cleared memory is 0. */
#define HALF(from, i) (1 + (from) + 4 * (i))
#define EPOCH(v)      (((v) - 1) / 4)

/* Where it is: of each rank a block of some regions, in each a line for each sender,
 * and a header of two counts. */
#ifdef MUTANT_ONE_SLOT
#define SLOT(from) 0
#else
#define SLOT(from) (from)
#endif
#define BLOCK           (2 * REGIONS * N)
#define LINE(to, i, from) (BLOCK * (to) + 2 * (N * REGION(i) + SLOT(from)))
#define ENDED(r)        (BLOCK * N + (r))
#define LAPS(r)         (BLOCK * N + N + (r))
#define CLEAR           255
byte memory[BLOCK * N + 2 * N];

chan buffer[N] = [BUFFER] of { byte, byte };
bit clearing[N]; /* the own block, in the buffer */

/* ---- the patterns ---------------------------------------------------------- */

#define DENSE  0 /* all to all, all received */
#define ONEWAY 1 /* 0 to 1 to 2, received; nothing comes back */
#define SPARSE 2 /* 0 to 2 and 2 to 1, received */
#define SHOUT  3 /* 1 broadcasts and nobody receives; 2 to 0, received */

byte pattern[2];
#define P(i) pattern[((i) / 2) & 1]

#define SENDS(i, from, to) ((from) != (to) && ( \
	P(i) == DENSE || \
	(P(i) == ONEWAY && (to) == (from) + 1) || \
	(P(i) == SPARSE && ((from) == 0 && (to) == 2 || (from) == 2 && (to) == 1)) || \
	(P(i) == SHOUT && ((from) == 1 || (from) == 2 && (to) == 0))))
#define RECEIVES(i, from, to) (SENDS(i, from, to) && !(P(i) == SHOUT && (from) == 1))

/* ---- memory ---------------------------------------------------------------- */

inline arrive(r) {
	buffer[r]?a,v ->
	if
	:: a == CLEAR ->
		a = BLOCK * r;
		do
		:: a < BLOCK * (r + 1) -> memory[a] = 0; a++
		:: else -> break
		od;
		clearing[r] = 0
	:: else -> memory[a] = v
	fi;
	a = 0; v = 0
}

proctype Memory() {
	byte a, v;
end:
	do
	:: atomic { arrive(0) }
	:: atomic { arrive(1) }
	:: atomic { arrive(2) }
	od
}

/* ---- a rank ---------------------------------------------------------------- */

/* All others' counts have reached a value. */
#define REACHED(COUNT, value) \
	((me == 0 || memory[COUNT(0)] >= (value)) && \
	 (me == 1 || memory[COUNT(1)] >= (value)) && \
	 (me == 2 || memory[COUNT(2)] >= (value)))

#define FITS(at, from)  (TAG(memory[at]) == TAG(HALF(from, i)))
#define RIGHT(at, from) (memory[at] == HALF(from, i))

/* Plain stores: only their way to memory can be seen. */
inline store(to) {
#ifdef MUTANT_TAG_FIRST
	buffer[me]!LINE(to, i, me) + 1,HALF(me, i);
	buffer[me]!LINE(to, i, me),HALF(me, i)
#else
	buffer[me]!LINE(to, i, me),HALF(me, i);
#if defined(HALVES) || defined(CELL)
	buffer[me]!LINE(to, i, me) + 1,HALF(me, i)
#endif
#endif
}

/* A line of epoch i proves that its sender has ended i. */
inline hear(from) {
	assert(memory[ENDED(from)] >= i);
	if :: heard[from] < i -> heard[from] = i :: else fi
}

/* On to the next to whom, or from whom, something is due; N: nobody. */
inline next_to()   { do :: peer < N && !SENDS(i, me, peer) -> peer++ :: else -> break od }
inline next_from() { do :: peer < N && !RECEIVES(i, peer, me) -> peer++ :: else -> break od }

/* Its receiver has ended the last epoch in which the region was used. */
#ifdef MUTANT_ROOM_TOO_EARLY
#define ENOUGH (i - REGIONS)
#else
#define ENOUGH (i - (REGIONS - 1))
#endif
#define ROOM(to) (i < REGIONS || heard[to] >= ENOUGH)

proctype Rank(byte me) {
	byte i, peer, heard[N];

send:	atomic {
		peer = 0; next_to();
		if :: peer == N -> goto receive :: else fi
	}
	do
#ifdef MUTANT_NO_ROOM
	:: atomic { true ->
#else
	:: atomic { !ROOM(peer) && memory[ENDED(peer)] >= ENOUGH -> heard[peer] = memory[ENDED(peer)] }
	:: atomic { ROOM(peer) ->
#endif
		store(peer);
		peer++; next_to();
		if :: peer == N -> goto receive :: else fi }
	od;

receive:
	atomic {
		peer = 0; next_from();
		if :: peer == N -> goto end_epoch :: else fi
	}
	do
#ifdef CELL
	:: atomic { !clearing[me] && FITS(LINE(me, i, peer) + 1, peer) ->
		assert(RIGHT(LINE(me, i, peer) + 1, peer)) }
	   atomic {
		assert(RIGHT(LINE(me, i, peer), peer));
#else
	:: atomic { !clearing[me] && FITS(LINE(me, i, peer), peer) ->
		assert(RIGHT(LINE(me, i, peer), peer));
#ifdef HALVES
		}
	   atomic { FITS(LINE(me, i, peer) + 1, peer) ->
		assert(RIGHT(LINE(me, i, peer) + 1, peer));
#endif
#endif
		hear(peer);
		peer++; next_from();
		if :: peer == N -> goto end_epoch :: else fi }
	od;

end_epoch:
	buffer[me]!ENDED(me),i + 1;
	if
	:: atomic { !WRAPS(i) -> skip }
	:: WRAPS(i) ->
#ifndef MUTANT_NO_FIRST_BARRIER
		REACHED(ENDED, i + 1);
#endif
		atomic {
#ifndef MUTANT_NO_CLEARING
			buffer[me]!CLEAR,0; clearing[me] = 1;
#endif
			buffer[me]!LAPS(me),(i + 1) / LAP }
#ifndef MUTANT_NO_SECOND_BARRIER
		REACHED(LAPS, (i + 1) / LAP)
#endif
	fi;
	atomic {
		i++;
		if :: i < LAST -> goto send :: else -> i = 0; peer = 0; heard[0] = 0; heard[1] = 0; heard[2] = 0 fi
	}
}

init {
	byte one, other;
	atomic {
#ifdef FIRST
		pattern[0] = FIRST; pattern[1] = THEN;
#else
		select(one : 0 .. 3); select(other : 0 .. 3);
		pattern[0] = one; pattern[1] = other; one = 0; other = 0;
#endif
		run Memory();
		run Rank(0); run Rank(1); run Rank(2)
	}
}
