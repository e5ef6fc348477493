/* Ready and complete: the two flags per edge of package ce, with its staging ring
 * and its credits.
 *
 * Two ranks make OPS operations on each of STREAMS streams, each rank with one
 * process per stream, as different goroutines do. One rank may be as fast as it
 * is let, the other as slow as it likes: that is what the interleaving says. In
 * each operation each rank is the receiver and the sender of one edge, and chooses
 * anew: where it wants the data (the final place, the ring, or nowhere: it
 * refuses, or expects nothing) and whether its source may be read by the other.
 *
 * What is stored is stored in the order of the program and seen in that order:
 * all the engine asks of a machine is release and acquire. There is no word that
 * both sides store, and nobody stores one word and then depends on not having
 * missed another (parking.pml is about that), so store buffers change nothing.
 *
 * Sequence numbers wrap at LAP, as those of 32 bits do, and are compared as
 * differences; counts of pieces do not wrap (64 bits).
 *
 * The MUTANT_… are mistakes; run.sh demands that each is found.
 */

#ifndef OPS
#define OPS 4
#endif
#ifndef STREAMS
#define STREAMS 1
#endif
#ifndef PIECES
#define PIECES 3 /* of a staged message */
#endif
#define SLOTS 2  /* of the ring */
#define LAP   4

/* The line that each rank's peer writes for it, per stream: index 2*stream + the
 * rank that reads. */
#define SETS (2 * STREAMS)
#ifdef MUTANT_ONE_STREAM
#define AT(s, r) (r)
#else
#define AT(s, r) (2 * (s) + (r))
#endif

byte tag[SETS];      /* {sequence}, stored last */
byte how[SETS];      /* what the receiver wants */
bit  offers[SETS];   /* what it sends may be read */
byte stamp[SETS];    /* which operation the line is for: only the checks look at it */
byte complete[SETS]; /* pieces sent, ever */
byte credit[SETS];   /* pieces taken, ever */

#define NOTHING 0
#define DIRECT  1
#define STAGED  2

/* Memory, by the rank whose it is. 0 is "not of this operation". */
byte final[SETS];
bit  invited[SETS];  /* final may be written */
byte source[SETS];
byte ring[SETS * SLOTS];


#define BEFORE(a, b) (((a) + LAP - (b)) % LAP >= LAP / 2) /* int32(a−b) < 0 */

proctype Rank(byte s; byte me) {
	byte k = 0;               /* operations begun */
	byte sent, received;      /* pieces, ever */
	byte left, coming;        /* of this operation */
	byte owed, taken;         /* those that use the ring, or are read at their source */
	byte wants, theirs;
	bit heard, mine, pulled, ringed, done;
	byte peer = 1 - me;
#define IN  AT(s, me)
#define OUT AT(s, peer)

	do
	:: k == OPS -> goto finished
	:: k < OPS ->
		/* invite */
		atomic {
			k++;
			heard = 0; pulled = 0; ringed = 0; done = 0; left = 0; coming = 0;
#if STREAMS == 2 /* the product of two streams is large: each does one thing */
			wants = (s == 0 -> DIRECT : STAGED);
			mine = 0;
#else
			if :: wants = NOTHING :: wants = DIRECT :: wants = STAGED fi;
			if :: mine = 0 :: mine = 1 fi;
#endif
			source[2 * s + me] = k;
			final[2 * s + me] = 0;
			invited[2 * s + me] = (wants == DIRECT)
		}
#ifdef MUTANT_TAG_FIRST
		tag[OUT] = k % LAP;
		atomic { how[OUT] = wants; offers[OUT] = mine; stamp[OUT] = k };
#else
		atomic { how[OUT] = wants; offers[OUT] = mine; stamp[OUT] = k };
#ifdef MUTANT_ONE_ARRAY
		tag[OUT] = k % LAP; complete[OUT] = k;
#else
		tag[OUT] = k % LAP;
#endif
#endif

		do
		/* hear: the tag first, then the line */
		:: !heard && !BEFORE(tag[IN], k % LAP) ->
#ifdef MUTANT_TAG_FIRST
			heard = 1;
			theirs = how[IN];
#else
			atomic {
				heard = 1;
				theirs = how[IN];
			}
#endif
			assert(stamp[IN] == k);
			atomic {
				/* both ends choose the ways by the same two lines, once: the peer may
				 * write the line again before this rank is through */
				left = (theirs == STAGED && !mine -> PIECES : 1);
				ringed = (wants == STAGED && !offers[IN]);
				coming = (ringed -> PIECES : 1);
#ifdef MUTANT_SILENT
				if :: theirs == NOTHING -> left = 0; done = 1 :: else fi;
				if :: wants == NOTHING -> coming = 0 :: else fi;
#endif
#ifdef MUTANT_COMPLETE_DROPPED
				if :: wants != STAGED -> coming = 0 :: else fi;
#endif
				pulled = (wants == STAGED && offers[IN])
			}

		/* send */
		:: heard && left > 0 && theirs != STAGED ->
			if
			:: theirs == DIRECT ->
				assert(invited[2 * s + peer]);
				final[2 * s + peer] = k
			:: else
			fi;
			atomic { left = 0; done = 1; sent++; complete[OUT] = sent }
		:: heard && left > 0 && theirs == STAGED && mine ->
			atomic { left = 0; sent++; owed++; complete[OUT] = sent }
#ifdef MUTANT_NO_CREDIT
		:: heard && left > 0 && theirs == STAGED && !mine ->
#else
		:: heard && left > 0 && theirs == STAGED && !mine && owed - credit[IN] < SLOTS ->
#endif
			ring[(2 * s + peer) * SLOTS + owed % SLOTS] = k * 8 + left;
			atomic { left--; done = (left == 0); owed++; sent++; complete[OUT] = sent }
		:: heard && left == 0 && !done && theirs == STAGED && mine &&
#ifdef MUTANT_PULL_UNTOLD
			1 ->
#else
			credit[IN] == owed -> /* the source has been read */
#endif
			done = 1

		/* receive */
		:: heard && pulled ->
			assert(source[2 * s + peer] == k);
			atomic { pulled = 0; taken++; credit[OUT] = taken }
#ifdef MUTANT_EQUALITY
		:: heard && coming > 0 && !pulled && complete[IN] == received + 1 ->
#else
		:: heard && coming > 0 && !pulled && complete[IN] > received ->
#endif
			if
			:: ringed ->
#ifdef MUTANT_CREDIT_EARLY
				credit[OUT] = taken + 1;
#endif
				assert(ring[(2 * s + me) * SLOTS + taken % SLOTS] == k * 8 + coming);
				atomic { taken++; credit[OUT] = taken }
			:: else
			fi;
			atomic { coming--; received++ }

		:: heard && done && coming == 0 && !pulled -> break
		od;
		/* The operation is over: what was promised is there, and from here on the
		 * own memory is the program's. */
		assert(wants != DIRECT || final[2 * s + me] == k);
		atomic {
			invited[2 * s + me] = 0;
			final[2 * s + me] = 0;
			source[2 * s + me] = 0
		}
	od;
finished:
	atomic { k = 0; sent = 0; received = 0; owed = 0; taken = 0; left = 0; coming = 0; wants = 0; theirs = 0; heard = 0; mine = 0; pulled = 0; ringed = 0; done = 0 }
}

init {
	atomic {
		run Rank(0, 0); run Rank(0, 1);
#if STREAMS == 2
		run Rank(1, 0); run Rank(1, 1)
#endif
	}
}
