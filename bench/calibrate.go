package bench

import "time"

// minBlock is the shortest block: a reading of the clock, 20 to 60 ns, must not
// show in it.
const minBlock = 20 * time.Microsecond

// sharedBlock is the shortest block of ranks that share CPUs. Each of them sees
// an operation begin and end in its own turn of the CPU, and the slowest of many
// ranks' shortest blocks is mostly the order of those turns: barriers of 16 on 2
// CPUs took 29 µs in blocks of one operation, and 14 in blocks of a hundred.
const sharedBlock = 2 * time.Millisecond

// blockFor is the shortest block of ranks on cpus.
func blockFor(ranks, cpus int) time.Duration {
	if ranks > cpus {
		return sharedBlock
	}
	return minBlock
}

// margin keeps blocks above their minimum although the machine may be faster
// than it was during calibration.
const margin = 1.25

// calibrate finds out how many operations make a block of at least shortest, and
// how long one takes. lap runs n operations and says how long that took; since a
// lap may be disturbed, and the first ones meet cold caches, the fastest of
// three counts.
func calibrate(shortest time.Duration, lap func(n int) (time.Duration, error)) (ops int, each time.Duration, err error) {
	shortest = time.Duration(margin * float64(shortest))
	for ops = 1; ; {
		fastest := time.Duration(0)
		for k := range 3 {
			t, err := lap(ops)
			if err != nil {
				return 0, 0, err
			}
			if k == 0 || t < fastest {
				fastest = t
			}
		}
		if fastest >= shortest {
			return ops, fastest / time.Duration(ops), nil
		}
		// At most ten times as many: a first guess rests on very little.
		grow := min(float64(shortest)/float64(max(fastest, 1)), 10)
		ops = max(ops+1, int(float64(ops)*grow)+1)
	}
}

// maxAgain is how often a slice is measured until its blocks are long enough.
const maxAgain = 3

// replan is the plan for what comes after an operation took so long in a slice. A
// machine that has become faster, or much slower, since needs other blocks; those of
// a slice are better to reckon them from than the few laps of a calibration.
func replan(ops int, planned, took, shortest time.Duration) (int, time.Duration) {
	took = max(took, 1)
	if block := took * time.Duration(ops); block < shortest || took > 3*planned {
		ops = int(margin*float64(shortest)/float64(took)) + 1
	}
	return ops, took
}

// plan says how a slice spends its time: blocks of ops operations each.
type plan struct{ ops, blocks int }

// minBlocks is the least that a slice has. A row has several slices.
const minBlocks = 2

// planFor divides iters operations, or as many as fit into budget where iters is
// 0 (auto), into blocks. What is asked for is rounded up to whole blocks.
func planFor(iters, ops int, each, budget time.Duration) plan {
	if iters == 0 {
		blocks := int(budget / max(each*time.Duration(ops), 1))
		return plan{ops, min(max(blocks, minBlocks), maxBlocks)}
	}
	// More than the board holds: longer blocks.
	ops = max(ops, (iters+maxBlocks-1)/maxBlocks)
	return plan{ops, (iters + ops - 1) / ops}
}
