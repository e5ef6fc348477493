package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/symwin/symwin/symmem"
)

// Ranks are goroutines of this process: the same code as between processes, for
// tests and examples.
func ExampleRun() {
	ranks := make([]string, 3)
	err := symmem.Run(context.Background(), 3, func(ctx context.Context, w *symmem.World) error {
		ranks[w.Rank()] = fmt.Sprintf("rank %d of %d", w.Rank(), w.Size())
		return nil
	})
	fmt.Println(ranks, err)
	// Output: [rank 0 of 3 rank 1 of 3 rank 2 of 3] <nil>
}

// What a rank stored before a barrier, all see after it. An error of a barrier
// says what has happened and to whom.
func ExampleTeam_Barrier() {
	var board [2]string
	err := symmem.Run(context.Background(), 2, func(ctx context.Context, w *symmem.World) error {
		board[w.Rank()] = fmt.Sprint("greetings from ", w.Rank())
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Println(board[1])
			return nil // and leaves
		}
		err := w.Team().Barrier(ctx) // which rank 0 never calls
		fmt.Println(errors.Is(err, symmem.ErrLeft), err)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// greetings from 1
	// true barrier #2 on team 0 waits for rank 0, which closed its world and is gone
}

// Teams of even and odd ranks, the highest world rank first.
func ExampleTeam_Split() {
	teams := make([][]int, 5)
	err := symmem.Run(context.Background(), 5, func(ctx context.Context, w *symmem.World) error {
		team, err := w.Team().Split(ctx, w.Rank()%2, -w.Rank())
		if err != nil {
			return err
		}
		for r := range team.Size() {
			teams[w.Rank()] = append(teams[w.Rank()], team.WorldRank(r))
		}
		return team.Close(ctx)
	})
	fmt.Println(teams, err)
	// Output: [[4 2 0] [3 1] [4 2 0] [3 1] [4 2 0]] <nil>
}

// A launcher creates the region before it starts a rank, gives each rank its
// environment, and sees from outside what they do.
func ExampleHost() {
	host, err := symmem.NewHost(fmt.Sprintf("example-%d", os.Getpid()), symmem.Geometry{Size: 2, Window: 64 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	fmt.Println(len(host.Env(1)) > 0, host.Geometry().Size)

	// Nobody was started: the region stands, under its name.
	s := host.Observe()
	fmt.Println(s.Linked, s.Ranks[0].Life, s.Ranks[1].Life)

	// ps and clean find it through the descriptors of this user's processes.
	found, err := symmem.Regions()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range found {
		if seen, err := symmem.Observe(f.Pid, f.Fd); err == nil && seen.Job == host.Job() {
			fmt.Println("seen from outside:", seen.Size, "ranks")
		}
	}

	host.Abort("changed my mind")
	fmt.Println(host.Observe().Abort.Text)
	// Output:
	// true 2
	// true not come not come
	// seen from outside: 2 ranks
	// changed my mind
}
