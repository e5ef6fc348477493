package bench_test

import (
	"context"
	"fmt"
	"os"

	"github.com/symwin/symwin/bench"
)

// A program that measures starts itself again as the ranks, so its main hands
// them on before anything else.
func ExampleMain() {
	ctx := context.Background()
	if len(os.Args) > 1 && os.Args[1] == bench.RankCommand {
		os.Exit(bench.RankMain(ctx, os.Args[2:]))
	}
	code := bench.Main(ctx, []string{"latency", "--min", "1M", "--max", "64K"}, os.Stdout, os.Stdout)
	fmt.Println("exit code", code)
	// Output:
	// shmrun bench: --min 1M is more than --max 64K; see "shmrun bench --help"
	// exit code 2
}
