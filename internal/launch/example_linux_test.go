package launch_test

import (
	"context"
	"fmt"
	"os"

	"github.com/symwin/symwin/internal/launch"
)

func ExampleRun() {
	o := launch.Options{N: 3, TagOutput: true, Stdout: os.Stdout}
	result := launch.Run(context.Background(), o, []string{"sh", "-c", "test $SYMWIN_RANK != 2 || echo the last of $SYMWIN_SIZE"})
	fmt.Println(result.ExitCode)
	// Output:
	// [2] the last of 3
	// 0
}
