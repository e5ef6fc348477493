package shmsync_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	shmsync "github.com/symwin/symwin/sync"
)

// aborted is an Overseer that looks at one abort word; a real one also looks for
// the dead, the late, and those who call something else.
type aborted struct{ word *atomic.Uint32 }

func (a aborted) Over() bool { return a.word.Load() != 0 }

func (a aborted) Ended() error {
	if a.Over() {
		return fmt.Errorf("the job was aborted")
	}
	return nil
}

func (a aborted) Inspect(time.Duration) error { return a.Ended() }

// One rank waits until two others have each reached step 3. In a job the words,
// the doorbell and the abort word lie in memory that all ranks map, and each
// counter fills a cache line of its own.
func ExamplePlace_Wait() {
	var steps [3]uint64 // one writer each
	var abort atomic.Uint32
	place := shmsync.Place{
		Bell:   new(shmsync.Doorbell),
		Policy: shmsync.Policy{InProcess: true},
	}

	for r := 1; r < len(steps); r++ {
		go func() {
			for range 3 {
				atomic.AddUint64(&steps[r], 1) // the locked instruction before Ring
				place.Bell.Ring()
			}
		}()
	}

	others := shmsync.NewFlags([]*uint64{nil, &steps[1], &steps[2]}, 1)
	others.Expect(3)
	if err := place.Wait(context.Background(), others, aborted{&abort}); err != nil {
		fmt.Println("missing:", others.Missing(nil), err)
		return
	}
	fmt.Println("all at step 3")
	// Output: all at step 3
}
