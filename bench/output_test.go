package bench

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestFormats(t *testing.T) {
	c := &Config{Op: "alltoall", Engine: "auto", Ranks: 4, Dst: dstWindow, CPUs: []int{0, 1, 2, 3}, Plan: [][]int{{0}, {1}, {2}, {3}}}
	rows := []Row{
		{Op: "alltoall", Engine: "auto", Ranks: 4, Bytes: 8, Iters: 1_234_000, P50: 0.18764321, P99: 0.23, Wrong: 0},
		{Op: "alltoall", Engine: "auto", Ranks: 4, Bytes: 1 << 20, Iters: 1024, P50: 341.5, P99: 1022.75, Wrong: 3},
	}
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			var b bytes.Buffer
			out := newOutput(format, &b, c, "Some CPU, 4 CPUs")
			require.NoError(t, out.placement(Placement{CPUs: [2]int{0, 1}, HalfNS: 47.2}))
			for _, r := range rows {
				require.NoError(t, out.row(r))
			}
			require.NoError(t, out.placement(Placement{CPUs: [2]int{0, 1}, HalfNS: 196}))
			golden(t, "alltoall."+format, b.Bytes())
		})
	}
}

func TestPlacementIsSteadyWithinOneState(t *testing.T) {
	at := func(ns float64) Placement { return Placement{HalfNS: ns} }
	require.True(t, steady(at(45), at(55)))
	require.True(t, steady(at(55), at(45)))
	require.False(t, steady(at(27), at(45)))
	require.False(t, steady(at(200), at(55)))
	require.True(t, steady(at(0), at(0)))
	require.False(t, steady(at(0), at(50)))
}

func TestMessagesAreToldFromWhatElseRanksWrite(t *testing.T) {
	var got []Row
	var rest bytes.Buffer
	r := &receiver{rest: &rest, take: func(m message) error { got = append(got, *m.Row); return nil }}
	row := Row{Op: "barrier", Ranks: 2, P50: 0.5}
	var text bytes.Buffer
	text.WriteString("hello\n")
	require.NoError(t, message{Row: &row}.write(&text))
	text.WriteString("[0] ") // --tag-output
	require.NoError(t, message{Row: &row}.write(&text))
	text.WriteString("shmrun-bench:no message\n")
	for _, b := range text.Bytes() { // in the smallest pieces
		n, err := r.Write([]byte{b})
		require.Equal(t, 1, n)
		require.NoError(t, err)
	}
	require.Equal(t, []Row{row, row}, got)
	require.Equal(t, "hello\nshmrun-bench:no message\n", rest.String())
}
