// Package failpoint makes a process fail at a named place: between two stores,
// before a wake, in the middle of a vote. Tests and the fault campaign
// (internal/soak) use it to reach phases that last nanoseconds.
//
// The invariant: without the build tag symwinfail there is nothing of it. Hit is
// an empty function that the compiler removes, so a call of it may stand in the
// hottest path. With the tag, and with nothing armed, a Hit is a look into an
// empty table.
//
// A fault is written name:action[:count], several are separated by commas, and
// stand in SYMWIN_FAILPOINT or are given to Arm. The name is one of Names; the
// fault happens at the count-th time (the first) that the process comes there:
//
//	kill     SIGKILL to the own process
//	stop     SIGSTOP to the own process, until somebody sends SIGCONT
//	panic    a panic that nothing recovers, in a goroutine of its own
//	exit     os.Exit(3)
//	sleep    20 ms, so that a window of nanoseconds can be hit from outside
//	garbage  whatever was given to OnGarbage: campaigns overwrite shared words
//
// The idea is FreeBSD's fail(9), in Go known from gofail.
package failpoint

// Names are the places, in the order in which a rank comes by them. One that is
// not here does not exist: Hit and Arm panic for it.
var Names = []string{
	JoinClaimed, JoinCounted, JoinUnlink, JoinUnlinked,
	LaneStored, LaneRecord, ExchangePosted, ExchangeArrived,
	SplitTaken, SplitVoted, RevokeClaimed, AbortClaimed,
	BellSwapped, ParkSet, ParkLooked, ParkWoken,
	AllocPlaced, AllocReserved, AllocVoted, FreeCame, AreaTaken,
	SignalStored,
	CloseBegun, CloseLeft, CloseDisarmed,
	SendHalf, SendDone, EpochEnded,
	CopyReady, CopyHalf, CopyDone, CopyComplete,

	// The steps of birth, attach, unlink and sweep, as internal/shm calls them.
	"shm.unnamed", "shm.locked", "shm.sized", "shm.written", "shm.linked", "shm.reopened", "shm.held",
	"shm.opened", "shm.attached",
	"shm.named", "shm.right", "shm.looked", "shm.unlinked",
	"shm.found", "shm.mine",
}

// The places.
const (
	JoinClaimed  = "join.claimed"  // the liveness word is ours, nobody was told
	JoinCounted  = "join.counted"  // those who wait were woken
	JoinUnlink   = "join.unlink"   // all have come, the name still stands
	JoinUnlinked = "join.unlinked" // it is gone, Join has not returned

	LaneStored      = "lane.stored"      // a collective's stores are made, its record is not
	LaneRecord      = "lane.record"      // its record is published, nobody was rung
	ExchangePosted  = "exchange.posted"  // the own post is written, the arrival not
	ExchangeArrived = "exchange.arrived" // the arrival too, nobody was rung
	SplitTaken      = "split.taken"      // a team number is taken, no vote cast
	SplitVoted      = "split.voted"      // all have voted, the team is not made
	RevokeClaimed   = "revoke.claimed"   // a team is revoked, nobody was rung
	AbortClaimed    = "abort.claimed"    // the world is aborted, nobody was rung

	BellSwapped = "bell.swapped" // parked was taken back, the sleepers were not woken
	ParkSet     = "park.set"     // parked is set, the condition was not looked at again
	ParkLooked  = "park.looked"  // the next instruction is the sleep
	ParkWoken   = "park.woken"   // awake, nothing was looked at

	AllocPlaced   = "alloc.placed"   // all have a place, none has memory
	AllocReserved = "alloc.reserved" // memory is reserved, the second vote not cast
	AllocVoted    = "alloc.voted"    // all have voted, the window is not there
	FreeCame      = "free.came"      // all have come, the memory is not given back
	AreaTaken     = "area.taken"     // an engine's area is reserved, its offset not told

	SignalStored = "signal.stored" // the count is stored, the receiver was not rung

	CloseBegun    = "close.begun"    // the world is closed for its own calls, the guard still there
	CloseLeft     = "close.left"     // the liveness word says left, the kernel still has the list
	CloseDisarmed = "close.disarmed" // the list is empty, the memory mapped

	SendHalf   = "send.half"   // one half of a line or of a row of them is written
	SendDone   = "send.done"   // all of it, nobody was rung
	EpochEnded = "epoch.ended" // the end of the epoch is published, nobody was rung

	CopyReady    = "copy.ready"    // the ready lines are posted
	CopyHalf     = "copy.half"     // some of the bytes are copied
	CopyDone     = "copy.done"     // all of them, complete is not told
	CopyComplete = "copy.complete" // complete is told, nobody was rung
)
