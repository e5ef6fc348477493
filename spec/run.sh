#!/bin/sh
# Checks every model and every mutant of it with spin, one line each. A model has
# to hold over its whole state space; a mutant has to fail, and in the stated way.
# Exit code 1 if any line is not as it should be.
set -u
cd "$(dirname "$0")" || exit 1
spec=$PWD

for need in spin:spin gcc:"gcc libc6-dev"; do
	command -v "${need%%:*}" >/dev/null || {
		echo "spec: ${need%%:*} is missing (Debian: apt-get install ${need#*:})" >&2
		exit 1
	}
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
failed=0

# check MODEL NAME WANT [-DMACRO...], where WANT is holds, deadlock or assertion.
check() {
	model=$1 name=$2 want=$3
	shift 3
	if ! { spin -a "$@" "$spec/$model" && gcc -w -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c; } >build 2>&1; then
		cat build
		got="does not build"
	else
		./pan -n -m100000 >out 2>&1
		if grep -q 'errors: 0$' out && ! grep -Eq 'not completed|depth too small|MEMLIM|out of memory' out; then
			got=holds
		elif grep -q '^pan:1: invalid end state' out; then
			got=deadlock
		elif grep -q '^pan:1: assertion violated' out; then
			got=assertion
		else
			cat out
			got="no verdict"
		fi
	fi
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored$/\1/p' out 2>/dev/null)
	if [ "$got" = "$want" ]; then
		printf 'ok    %-44s %-9s %12s states\n' "$name" "$got" "$states"
	else
		printf 'WRONG %-44s %s, should be %s (%s)\n' "$name" "$got" "$want" "$*"
		failed=1
	fi
	rm -f pan* out build ./*.trail
}

m=parking.pml
check $m "parking, two ranks"                        holds
check $m "parking, two goroutines of one rank"       holds     -DONE_RANK
check $m "abort and deaths, two ranks"               holds     -DABORT
check $m "abort and deaths, one rank"                holds     -DABORT -DONE_RANK
check $m "lone Send, bounded parks, two ranks"       holds     -DLONE -DTIMER
check $m "lone Send, bounded parks, one rank"        holds     -DLONE -DTIMER -DONE_RANK

check $m "mutant: lone Send, unbounded parks"        deadlock  -DLONE
check $m "mutant: bell read after parked is set"     deadlock  -DMUTANT_BELL_AFTER_PARKED
check $m "mutant: bell read after the look"          deadlock  -DMUTANT_BELL_AFTER_LOOK
check $m "mutant: parked set by a plain store"       deadlock  -DMUTANT_PLAIN_PARKED
check $m "mutant: waker does not ring the bell"      deadlock  -DMUTANT_SILENT
check $m "mutant: waker wakes one sleeper"           deadlock  -DMUTANT_WAKE_ONE -DONE_RANK
check $m "mutant: who leaves clears parked"          deadlock  -DMUTANT_CLEAR_ON_LEAVING -DONE_RANK
check $m "mutant: abort looks at parked"             deadlock  -DMUTANT_ABORT_LOOKS -DABORT
check $m "mutant: only the abort's author rings"     deadlock  -DMUTANT_AUTHOR_ALONE -DABORT
check $m "mutant: no last look when aborted"         assertion -DMUTANT_ONE_LOOK -DABORT

m=ready.pml
check $m "ready and complete, any ways"              holds     -DPIECES=2
check $m "ready and complete, two streams"           holds     -DSTREAMS=2 -DOPS=2 -DPIECES=2
check $m "ready and complete, a rank gives up"       holds     -DGIVEUP -DOPS=2 -DPIECES=2

check $m "mutant: pieces waited for by equality"     deadlock  -DMUTANT_EQUALITY
check $m "mutant: ready and complete in one array"   assertion -DMUTANT_ONE_ARRAY
check $m "mutant: one array for two streams"         assertion -DMUTANT_ONE_STREAM -DSTREAMS=2 -DOPS=2
check $m "mutant: complete dropped"                  assertion -DMUTANT_COMPLETE_DROPPED
check $m "mutant: who sends nothing says nothing"    assertion -DMUTANT_SILENT
check $m "mutant: sequence stored before the line"   assertion -DMUTANT_TAG_FIRST
check $m "mutant: a source reused before it is read" assertion -DMUTANT_PULL_UNTOLD
check $m "mutant: credit before the copy out"        assertion -DMUTANT_CREDIT_EARLY
check $m "mutant: no credit"                         assertion -DMUTANT_NO_CREDIT
check $m "mutant: ways chosen by one line"           assertion -DMUTANT_OWN_VIEW
check $m "mutant: who gives up is believed"          assertion -DMUTANT_BELIEVES -DGIVEUP -DOPS=2 -DPIECES=2

m=epoch.pml
check $m "epochs, four"                              holds     -DLAST=4
check $m "epochs, through the wrap"                  holds     -DLAST=5 -DLAP=4
check $m "epochs, a wrap after every second"         holds     -DLAST=5 -DLAP=2
check $m "epochs, three regions, through the wrap"     holds     -DLAST=5 -DREGIONS=3 -DBUFFER=2 -DLAP=4
check $m "epochs, lines of two halves"               holds     -DLAST=3 -DHALVES -DBUFFER=2
check $m "epochs, elements with one tag"             holds     -DLAST=3 -DCELL -DBUFFER=2

check $m "mutant: one region only"                   deadlock  -DLAST=3 -DMUTANT_ONE_REGION
check $m "mutant: one way and no look for room"      deadlock  -DLAST=4 -DMUTANT_NO_ROOM -DFIRST=ONEWAY -DTHEN=ONEWAY
check $m "mutant: room an epoch too early"             deadlock  -DLAST=4 -DMUTANT_ROOM_TOO_EARLY -DFIRST=ONEWAY -DTHEN=ONEWAY
check $m "mutant: so, with three regions"              deadlock  -DLAST=5 -DREGIONS=3 -DBUFFER=2 -DMUTANT_ROOM_TOO_EARLY -DFIRST=ONEWAY -DTHEN=ONEWAY
check $m "mutant: two senders of one slot"           assertion -DLAST=3 -DMUTANT_ONE_SLOT
check $m "mutant: no first barrier at the wrap"      assertion -DLAST=4 -DLAP=2 -DMUTANT_NO_FIRST_BARRIER -DFIRST=SHOUT -DTHEN=DENSE
check $m "mutant: no second barrier at the wrap"     deadlock  -DLAST=4 -DLAP=2 -DMUTANT_NO_SECOND_BARRIER
check $m "mutant: no clearing at the wrap"           assertion -DLAST=4 -DLAP=2 -DMUTANT_NO_CLEARING
check $m "mutant: an element's tag stored first"     assertion -DLAST=3 -DCELL -DMUTANT_TAG_FIRST

exit $failed
