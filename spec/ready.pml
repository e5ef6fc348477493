/* Ready and complete: the two flags per edge of package ce, with its staging ring
 * and its credits.
 *
 * Two ranks make OPS operations on each of STREAMS streams, each rank with one
 * process per stream, as different goroutines do. One rank may be as fast as it
 * is let, the other as slow as it likes: that is what the interleaving says. In
 * each operation each rank is the receiver and the sender of one edge, and chooses
 * anew: where it wants the data (the final place, the ring, or nowhere: it
 * refuses, or expects nothing), whether it can read private memory of the other
 * (the kernel reads for it), and what its source is: in a window, where the other
 * may read it, private and offered, or private and not.
 *
 * The way follows from these two lines. A final place and a source that can be
 * read, where nothing goes the other way, make a shared edge: the sender writes
 * the first half, the receiver reads the second.
 *
 * What is stored is stored in the order of the program and seen in that order:
 * all the engine asks of a machine is release and acquire. There is no word that
 * both sides store, and nobody stores one word and then depends on not having
 * missed another (parking.pml is about that), so store buffers change nothing.
 *
 * Sequence numbers wrap at LAP, as those of 32 bits do, and are compared as
 * differences; counts of pieces do not wrap (64 bits).
 *
 * With GIVEUP a rank may give up at any moment: it revokes the team and uses its
 * memory for something else at once. What it wanted may be written to for a while
 * yet, as in every operation that fails; but whoever reads what it sent is not to
 * take that for what was sent.
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
bit  reads[SETS];    /* it can read private memory */
byte offers[SETS];   /* what it sends may be read */
byte stamp[SETS];    /* which operation the line is for: only the checks look at it */
byte complete[SETS]; /* pieces sent, ever */
byte credit[SETS];   /* pieces taken, ever */

#define NOTHING 0
#define DIRECT  1
#define STAGED  2

#define PRIVATE 1
#define SHOWN   2
#define OPEN(offers, reads) (offers == SHOWN || (offers == PRIVATE && reads))

/* Memory, by the rank whose it is. 0 is "not of this operation". */
byte final[SETS];    /* first half of the final place, */
byte rest[SETS];     /* and second */
bit  invited[SETS];  /* final may be written */
byte source[SETS];
byte ring[SETS * SLOTS];
bit  revoked;

#define BEFORE(a, b) (((a) + LAP - (b)) % LAP >= LAP / 2) /* int32(a−b) < 0 */

proctype Rank(byte s; byte me) {
	byte k = 0;               /* operations begun */
	byte sent, received;      /* pieces, ever */
	byte left, coming;        /* of this operation */
	byte owed, taken;         /* those that use the ring, or are read at their source */
	byte wants, theirs, mine, seen;
	bit can, heard, pulled, open, shared, ringed, told, done;
	byte peer = 1 - me;
#define IN  AT(s, me)
#define OUT AT(s, peer)

	do
	:: k == OPS -> goto finished
	:: k < OPS ->
		/* invite */
		atomic {
			k++;
			heard = 0; pulled = 0; open = 0; shared = 0; ringed = 0; told = 0; done = 0; left = 0; coming = 0; seen = 0;
#if STREAMS == 2 /* the product of two streams is large: each does one thing */
			wants = (s == 0 -> DIRECT : STAGED);
			mine = 0;
#else
			if :: wants = NOTHING :: wants = DIRECT :: wants = STAGED fi;
			if :: mine = 0 :: mine = PRIVATE :: mine = SHOWN fi;
			if :: k > 1 :: k == 1 && me == 0 :: k == 1 -> can = 1 fi; /* once and for all */
#endif
			source[2 * s + me] = k;
			final[2 * s + me] = 0;
			rest[2 * s + me] = 0;
			invited[2 * s + me] = (wants == DIRECT)
		}
#ifdef MUTANT_TAG_FIRST
		tag[OUT] = k % LAP;
		atomic { how[OUT] = wants; reads[OUT] = can; offers[OUT] = mine; stamp[OUT] = k };
#else
		atomic { how[OUT] = wants; reads[OUT] = can; offers[OUT] = mine; stamp[OUT] = k };
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
				open = OPEN(mine, reads[IN]);
				shared = (theirs == DIRECT && open && wants == NOTHING);
				left = (theirs == STAGED && !open -> PIECES : 1);
#ifdef MUTANT_OWN_VIEW
				pulled = (wants != NOTHING && can || OPEN(offers[IN], can));
#else
				pulled = OPEN(offers[IN], can);
#endif
				ringed = (wants == STAGED && !pulled);
				pulled = pulled && (wants == STAGED || (wants == DIRECT && theirs == NOTHING));
				coming = (ringed -> PIECES : 1);
#ifdef MUTANT_SILENT
				if :: theirs == NOTHING -> left = 0; done = 1 :: else fi;
				if :: wants == NOTHING -> coming = 0 :: else fi;
#endif
#ifdef MUTANT_COMPLETE_DROPPED
				if :: wants != STAGED -> coming = 0 :: else fi;
#endif
				skip
			}

		/* send */
		:: heard && left > 0 && theirs != STAGED ->
			if
			:: theirs == DIRECT ->
				assert(invited[2 * s + peer] || revoked);
				atomic {
					final[2 * s + peer] = k;
					if :: !shared -> rest[2 * s + peer] = k :: else fi
				}
			:: else
			fi;
			atomic { left = 0; told = shared; done = !shared; owed = owed + shared; sent++; complete[OUT] = sent }
		:: heard && left > 0 && theirs == STAGED && open ->
			atomic { left = 0; told = 1; sent++; owed++; complete[OUT] = sent }
#ifdef MUTANT_NO_CREDIT
		:: heard && left > 0 && theirs == STAGED && !open ->
#else
		:: heard && left > 0 && theirs == STAGED && !open && owed - credit[IN] < SLOTS ->
#endif
			ring[(2 * s + peer) * SLOTS + owed % SLOTS] = k * 8 + left;
			atomic { left--; done = (left == 0); owed++; sent++; complete[OUT] = sent }
		:: heard && told && !done &&
#ifdef MUTANT_PULL_UNTOLD
			1 ->
#else
			credit[IN] == owed -> /* the source has been read */
#endif
			done = 1

		/* receive */
		:: heard && pulled && seen == 0 ->
			seen = source[2 * s + peer] + 1
		:: heard && pulled && seen > 0 ->
#if defined(GIVEUP) && !defined(MUTANT_BELIEVES)
			if :: revoked -> break :: else fi;
#endif
			assert(seen == k + 1);
			atomic {
				if :: wants == DIRECT -> rest[2 * s + me] = k :: else fi;
				pulled = 0; seen = 0; taken++; credit[OUT] = taken
			}
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

#ifdef GIVEUP
		:: revoked -> break
		:: revoked = 1 -> break
#endif
		:: heard && done && coming == 0 && !pulled -> break
		od;
#ifdef GIVEUP
		if
		:: !(heard && done && coming == 0 && !pulled) -> source[2 * s + me] = 0; goto finished
		:: else
		fi;
#endif
		/* The operation is over: what was promised is there, and from here on the
		 * own memory is the program's. */
		assert(wants != DIRECT || (final[2 * s + me] == k && rest[2 * s + me] == k));
		atomic {
			invited[2 * s + me] = 0;
			final[2 * s + me] = 0;
			rest[2 * s + me] = 0;
			source[2 * s + me] = 0
		}
	od;
finished:
	atomic { k = 0; sent = 0; received = 0; owed = 0; taken = 0; left = 0; coming = 0; wants = 0; theirs = 0; heard = 0; mine = 0; can = 0; pulled = 0; open = 0; shared = 0; ringed = 0; told = 0; done = 0; seen = 0 }
}

init {
	atomic {
		run Rank(0, 0); run Rank(0, 1);
#if STREAMS == 2
		run Rank(1, 0); run Rank(1, 1)
#endif
	}
}
