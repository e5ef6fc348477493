package env_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/env"
)

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "10": 10 * time.Second, "2.5": 2500 * time.Millisecond, "300ms": 300 * time.Millisecond,
		"1h30m": 90 * time.Minute, "1e-3": time.Millisecond,
	} {
		d, err := env.ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, d, text)
	}
	for _, text := range []string{"", "x", "-1", "-1s", "NaN", "Inf", "1e300", "10 s"} {
		_, err := env.ParseDuration(text)
		require.ErrorIs(t, err, env.ErrSyntax, text)
	}
	t.Setenv(env.KeyStall, "soon")
	_, err := env.Duration(env.KeyStall)
	require.ErrorContains(t, err, `SYMWIN_STALL: bad value: "soon"`)
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "64K": 64 << 10, "64k": 64 << 10, "1GiB": 1 << 30, "2MB": 2 << 20, "7b": 7, "1T": 1 << 40,
		"9223372036854775807": 1<<63 - 1,
	} {
		n, err := env.Size(text)
		require.NoError(t, err, text)
		require.Equal(t, want, n, text)
		again, err := env.Size(env.FormatSize(n))
		require.NoError(t, err, text)
		require.Equal(t, n, again, text)
	}
	for _, text := range []string{"", "K", "1X", "-1", "1KK", "1.5G", "9223372036854775808", "8388608T", "1Gi", "KB1"} {
		_, err := env.Size(text)
		require.ErrorIs(t, err, env.ErrSyntax, text)
	}
	require.Equal(t, "1G", env.FormatSize(1<<30))
	require.Equal(t, "4097", env.FormatSize(4097))
}

// Every default must be legal in the variable's own syntax.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range env.Table {
		require.False(t, seen[v.Name], v.Name)
		seen[v.Name] = true
		require.NotEmpty(t, v.Text, v.Name)
		t.Setenv(v.Name, "")
		require.Equal(t, v.Default, env.Get(v.Name))
	}
	for _, name := range []string{env.KeyJoinTimeout, env.KeyStall, env.KeyStallReport} {
		_, err := env.Duration(name)
		require.NoError(t, err)
	}
	_, err := env.Size(env.Get(env.KeyWindow))
	require.NoError(t, err)
	require.Panics(t, func() { env.Get("SYMWIN_WINDOWS") })
}
