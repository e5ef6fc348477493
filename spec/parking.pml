/* Parking and waking: the protocol of package shmsync (folder sync), and the
 * abort of package symmem, which has to reach whoever sleeps there.
 *
 * Two waiters wait, each for a word from one of two wakers and for the last word
 * of a third sender, which sends to both and never waits itself. With ABORT a
 * waker may die at any step, and a guard aborts at any moment; it may die over
 * that, and a second guard, which watches it, begins anew.
 *
 * Memory is x86's (TSO): plain stores go into a first-in-first-out buffer of the
 * actor, from where they reach memory at any later moment; a locked instruction
 * waits until its actor's buffer is empty. No actor loads what it stored plainly,
 * so loads read memory. Nothing is assumed of barriers inside system calls.
 *
 * Steps are merged only where nobody can tell. The words that are waited for and
 * the abort word never go back, so a look at several of them is one step, the
 * last load's: what it finds is true at that moment. A load of `parked` that
 * finds it clear, and a compare-and-swap that fails, are the same step.
 *
 * Variants:
 *   ONE_RANK   the waiters are goroutines of one rank and share its doorbell
 *   ABORT      as said above
 *   LONE       the third sender omits the locked instruction, as a lone Send does
 *   TIMER      parks are bounded; a timer fires when nothing else can happen
 * Without TIMER a lost wake-up is a deadlock ("invalid end state").
 * The MUTANT_… are mistakes; run.sh demands that each is found.
 */

#define WAITERS 2
#define SENDERS 3
#define THIRD   2 /* the sender that never waits */

#ifdef ONE_RANK
#define RANKS   1
#define RANK(w) 0
#else
#define RANKS   2
#define RANK(w) (w)
#endif

/* How large a history is searched. An abort is a matter of one sleep, but adds an
 * actor; and its rings are what wakes for no reason there. */
#ifdef ABORT
#define MORTAL   0 /* the waker that may die */
#define SENDS    1 /* how often the third sender sends */
#define SPURIOUS 0 /* how many sleeps end for no reason */
#else
#define MORTAL   SENDERS
#define SENDS    2
#define SPURIOUS 1
#endif

/* Waker s sends once, to waiter s; the third sender to everybody. */
#define ROUNDS(s)       ((s) == THIRD -> SENDS : 1)
#define WROTE_TO(s, r)  ((s) == THIRD || RANK(s) == (r))

/* What is stored plainly has a number: of each waiter the word from its waker
 * and the word from the third sender, and of each rank the parked word. */
#define WAKERS(w) (2 * (w))
#define THIRDS(w) (2 * (w) + 1)
#define PARKED(r) (2 * WAITERS + (r))
byte memory[2 * WAITERS + RANKS];
#define HELD(w)   (memory[WAKERS(w)] >= 1 && memory[THIRDS(w)] >= SENDS)

/* The doorbell counts rings, and a waiter compares for equality with what it
 * read. So all that matters of the counter is whether it has moved since. */
mtype = { unread, read, moved };
mtype bell[WAITERS] = unread;
bit asleep[WAITERS];
byte spurious = SPURIOUS;

bit aborted; /* the abort word */

bit sure[WAITERS]; /* for a property: w slept already when the third sender stored its last word */

/* Store buffers of the senders and, for a mutant, of the waiters. */
chan buffer[SENDERS + WAITERS] = [2 * WAITERS] of { byte, byte };
#define DRAINED(actor) empty(buffer[actor])

proctype Memory() {
	byte a, v;
end:
	do
	:: atomic { buffer[0]?a,v -> memory[a] = v; a = 0; v = 0 }
	:: atomic { buffer[1]?a,v -> memory[a] = v; a = 0; v = 0 }
	:: atomic { buffer[2]?a,v -> memory[a] = v; a = 0; v = 0 }
#ifdef MUTANT_PLAIN_PARKED
	:: atomic { buffer[3]?a,v -> memory[a] = v; a = 0; v = 0 }
	:: atomic { buffer[4]?a,v -> memory[a] = v; a = 0; v = 0 }
#endif
	od
}

/* ---- the doorbell's two system calls and its counter ----------------------- */

inline ring(r) { /* a locked increment */
	d_step {
#ifndef MUTANT_SILENT
		if :: RANK(0) == r && bell[0] == read -> bell[0] = moved :: else fi;
		if :: RANK(1) == r && bell[1] == read -> bell[1] = moved :: else fi;
#endif
		skip
	}
}

inline wake(r) { /* FUTEX_WAKE of all sleepers */
#ifdef MUTANT_WAKE_ONE
	atomic {
		if
		:: asleep[0] && RANK(0) == r -> asleep[0] = 0
		:: asleep[1] && RANK(1) == r -> asleep[1] = 0
		:: else
		fi
	}
#else
	d_step {
		if :: RANK(0) == r -> asleep[0] = 0 :: else fi;
		if :: RANK(1) == r -> asleep[1] = 0 :: else fi
	}
#endif
}

inline read_bell(w) { bell[w] = read }

inline sleep(w) { /* FUTEX_WAIT: to compare and to fall asleep is one step */
	if
	:: atomic { bell[w] == read -> bell[w] = unread; asleep[w] = 1 }
	:: atomic { bell[w] == moved -> bell[w] = unread; goto again }
	fi;
	if
	:: atomic { !asleep[w] -> sure[w] = 0 }
	:: atomic { asleep[w] && spurious > 0 -> spurious--; asleep[w] = 0; sure[w] = 0 }
#ifdef TIMER
	:: atomic { timeout ->
		asleep[w] = 0;
		assert(!sure[w]);  /* only who was just parking can have been missed, */
		assert(!fired);    /* and one timer makes up for it */
		fired = 1 }
#endif
	fi
}

/* ---- the waiter ------------------------------------------------------------ */

proctype Waiter(byte w) {
	bit fired;

again:
	/* to spin and to yield is to look any number of times, also none */
	if
	:: atomic { HELD(w) -> goto success }
#if !defined(MUTANT_BELL_AFTER_PARKED) && !defined(MUTANT_BELL_AFTER_LOOK)
	:: read_bell(w)
#else
	:: true
#endif
	fi;
#ifdef MUTANT_PLAIN_PARKED
	buffer[SENDERS + w]!PARKED(RANK(w)),1;
#else
	memory[PARKED(RANK(w))] = 1; /* XCHG */
#endif
#ifdef MUTANT_BELL_AFTER_PARKED
	read_bell(w);
#endif
	if :: atomic { HELD(w) -> goto success } :: else fi;
	if
#ifdef MUTANT_ONE_LOOK
	:: atomic { aborted -> assert(!HELD(w)); goto done }
#else
	:: atomic { aborted && HELD(w) -> goto success } /* what has arrived has arrived */
	:: atomic { aborted && !HELD(w) -> goto done }
#endif
	:: !aborted
	fi;
#ifdef MUTANT_BELL_AFTER_LOOK
	read_bell(w);
#endif
	sleep(w);
	goto again;

success:
#ifdef MUTANT_CLEAR_ON_LEAVING
	memory[PARKED(RANK(w))] = 0;
#endif
done:
	atomic { fired = 0; bell[w] = unread }
}

/* ---- the senders ----------------------------------------------------------- */

proctype Sender(byte s) {
	byte round = 1, r;

again:
	atomic { /* plain stores: only their way to memory can be seen */
		if
		:: s == THIRD ->
			buffer[s]!THIRDS(0),round;
			buffer[s]!THIRDS(1),round;
#ifdef TIMER
			if :: round == ROUNDS(s) -> sure[0] = asleep[0]; sure[1] = asleep[1] :: else fi
#endif
		:: s != THIRD -> buffer[s]!WAKERS(s),round
		:: s == MORTAL -> goto dead
		fi
	}
	r = 0;
	do
	:: r == RANKS -> break
	:: r < RANKS && !WROTE_TO(s, r) -> r++
	:: r < RANKS && WROTE_TO(s, r) ->
		/* the locked instruction that ends an operation, and a look at parked */
		if
#ifdef LONE
		:: (DRAINED(s) || s == THIRD) && !memory[PARKED(r)] -> goto next
#else
		:: DRAINED(s) && !memory[PARKED(r)] -> goto next
#endif
		:: atomic { DRAINED(s) && memory[PARKED(r)] -> memory[PARKED(r)] = 0 } /* CAS */
		:: s == MORTAL -> goto dead
		fi;
		if
		:: ring(r)
		:: s == MORTAL -> goto dead
		fi;
		if
		:: wake(r)
		:: s == MORTAL -> goto dead
		fi;
next:		r++
	od;
	if
	:: round < ROUNDS(s) -> round++; goto again
	:: else
	fi;
dead:
	atomic { round = 0; r = 0 }
}

/* ---- abort ----------------------------------------------------------------- */

/* The guards of the other ranks, of which one at a time has something to do: when
 * the first dies over its abort, the second, which watches it, begins anew. An
 * abort at any moment includes the one after the waker's death. */
proctype Guard() {
	byte r;
	bit second;

again:
	atomic { /* CAS on the abort word */
		if
		:: !aborted -> aborted = 1
#ifdef MUTANT_AUTHOR_ALONE
		:: aborted -> goto done
#else
		:: aborted /* the author may be dead: ring once more */
#endif
		fi;
		r = 0
	}
	do
#ifdef MUTANT_ABORT_LOOKS
	:: atomic { r < RANKS && !memory[PARKED(r)] -> r++ }
	:: atomic { r < RANKS && memory[PARKED(r)] -> memory[PARKED(r)] = 0 };
#else
	:: r < RANKS -> /* no look at parked: a waker may have died between its CAS and its ring */
#endif
		ring(r);
		if
		:: atomic { wake(r); r++ }
		:: atomic { !second -> second = 1; goto again }
		fi
	:: atomic { !second -> second = 1; goto again }
	:: r == RANKS -> break
	od;
done:
	atomic { r = 0; second = 0 }
}

init {
	atomic {
		run Memory();
		run Waiter(0); run Waiter(1);
		run Sender(0); run Sender(1); run Sender(2);
#ifdef ABORT
		run Guard()
#endif
	}
}
