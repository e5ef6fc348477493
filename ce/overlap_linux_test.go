package ce_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// BenchmarkOverlap is how well a batch moves beside a program that computes: one
// rank that may use any CPU, with one worker and a batch to itself. beside/longer is
// how long both take together, by the longer of both alone; 1 is all that can be.
func BenchmarkOverlap(b *testing.B) {
	for _, size := range []int{1 << 20, 4 << 20, 16 << 20, 64 << 20} {
		b.Run(fmt.Sprint(size>>20, "MiB"), func(b *testing.B) {
			o := symmem.Options{Size: 1, Window: 256 << 20}
			err := symmem.RunWith(context.Background(), o, func(ctx context.Context, w *symmem.World) error {
				return overlap(ctx, b, w, size)
			})
			require.NoError(b, err)
		})
	}
}

func overlap(ctx context.Context, b *testing.B, w *symmem.World, size int) error {
	win, err := window.Alloc[byte](ctx, w, size)
	if err != nil {
		return err
	}
	s, err := ce.Open(ctx, w.Team(), ce.Options{Workers: 1})
	if err != nil {
		return err
	}
	var batch ce.Batch
	ce.Put(&batch, 0, win.At(0, size), written(size))
	started := func(compute int) error {
		moving := s.Start(&batch)
		work(compute)
		return moving.Wait(ctx)
	}
	for range 3 {
		if err := started(0); err != nil {
			return err
		}
	}
	// The program computes for about as long as the batch takes.
	begin := time.Now()
	if err := started(0); err != nil {
		return err
	}
	compute := workFor(time.Since(begin))
	var moves, computes, both []float64
	for b.Loop() {
		for _, part := range []struct {
			took *[]float64
			do   func() error
		}{
			{&moves, func() error { return started(0) }},
			{&computes, func() error { work(compute); return nil }},
			{&both, func() error { return started(compute) }},
		} {
			begin := time.Now()
			if err := part.do(); err != nil {
				return err
			}
			*part.took = append(*part.took, time.Since(begin).Seconds())
		}
	}
	b.ReportMetric(middle(both)/max(middle(moves), middle(computes)), "beside/longer")
	b.ReportMetric(0, "ns/op")
	if err := s.Close(ctx); err != nil {
		return err
	}
	return win.Free(ctx)
}

// BenchmarkLate is how much of a peer's lateness a program hides that starts its
// batch and computes meanwhile, for as long: two ranks, each bound to a CPU. hidden/late
// is by how much less it takes than running the batch first, by the lateness.
func BenchmarkLate(b *testing.B) {
	for _, late := range []time.Duration{500 * time.Microsecond, 5 * time.Millisecond} {
		b.Run(late.String(), func(b *testing.B) {
			var all []float64
			for b.Loop() {
				job := ranktest.New(b)
				for r := range 2 {
					ranktest.OnCPU(b, r, func() { job.Add(r, 2, "late", "LATE="+late.String()) })
				}
				job.Wait()
				_, text, _ := strings.Cut(job.Ranks[0].Output(), "hidden ")
				hidden := 0.0
				_, err := fmt.Sscan(text, &hidden)
				require.NoError(b, err)
				all = append(all, hidden)
			}
			b.ReportMetric(middle(all), "hidden/late")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func init() { scenarios["late"] = joined(late) }

// late is a rank of BenchmarkLate: rank 1 is late, and rank 0 tells what it hid.
func late(ctx context.Context, w *symmem.World) error {
	const size, rounds = 256 << 10, 21
	by, err := time.ParseDuration(os.Getenv("LATE"))
	if err != nil {
		return err
	}
	win, err := window.Alloc[byte](ctx, w, size)
	if err != nil {
		return err
	}
	s, err := ce.Open(ctx, w.Team(), ce.Options{})
	if err != nil {
		return err
	}
	var batch ce.Batch
	ce.Put(&batch, 1-w.Rank(), win.At(0, size), written(size))
	compute := workFor(by)
	first := func() error {
		err := s.Run(ctx, &batch)
		work(compute)
		return err
	}
	beside := func() error {
		moving := s.Start(&batch)
		work(compute)
		return moving.Wait(ctx)
	}
	took := make([][]float64, 2)
	for range rounds {
		for k, do := range []func() error{first, beside} {
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			begin := time.Now()
			if w.Rank() == 1 {
				for time.Since(begin) < by {
				}
				do = func() error { return s.Run(ctx, &batch) }
			}
			if err := do(); err != nil {
				return err
			}
			took[k] = append(took[k], time.Since(begin).Seconds())
		}
	}
	if w.Rank() == 0 {
		fmt.Println("hidden", (middle(took[0])-middle(took[1]))/by.Seconds())
	}
	if err := s.Close(ctx); err != nil {
		return err
	}
	return win.Free(ctx)
}

// written is memory that has pages of its own: what was never written is one page
// of zeroes, over and over.
func written(size int) []byte {
	b := make([]byte, size)
	line.Fill(b, 1)
	return b
}

var sink uint64

// work computes, and leaves memory alone.
func work(turns int) {
	x := uint64(1)
	for range turns {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink += x
}

// workFor is how many turns of work take so long.
func workFor(d time.Duration) int {
	const some = 1 << 20
	var took []float64
	for range 9 {
		begin := time.Now()
		work(some)
		took = append(took, time.Since(begin).Seconds())
	}
	return int(d.Seconds() / middle(took) * some)
}

func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
