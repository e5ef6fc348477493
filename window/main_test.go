package window_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

func TestMain(m *testing.M) { ranktest.Main(m, scenarios) }

var sizes = []int{1, 2, 3, 5, 8, 16}

// run runs f as n ranks and fails the test with the first rank's error. The
// deadline is a watchdog.
func run(t *testing.T, n int, f func(context.Context, *symmem.World) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	require.NoError(t, symmem.Run(ctx, n, f))
}

// pattern fills b with bytes that depend on everything that must not be mixed up.
func pattern(b []byte, from, to, round int) {
	for i := range b {
		b[i] = byte(1 + i*7 + from*31 + to*57 + round*101)
	}
}

func zero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
