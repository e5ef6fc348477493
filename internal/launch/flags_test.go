package launch

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args         string
		interspersed bool
		want         Options
		rest         string
	}{
		{"prog -n 3", false, Options{}, "prog -n 3"},
		{"-n 3 prog -np 4", false, Options{N: 3}, "prog -np 4"},
		{"-np 3 prog -np", false, Options{N: 3}, "prog -np"},
		{"-np=3 prog", false, Options{N: 3}, "prog"},
		{"--np=3 -- -np", false, Options{N: 3}, "-np"},
		{"-n3 prog", false, Options{N: 3}, "prog"},
		{"-vn 3 prog", false, Options{N: 3, Verbose: true}, "prog"},
		{"-x A=-np -np 2 prog", false, Options{N: 2, Env: []string{"A=-np"}}, "prog"},
		{"-x A=1 -xB=2 prog", false, Options{Env: []string{"A=1", "B=2"}}, "prog"},
		{"--tag-output -np 2 prog", false, Options{N: 2, TagOutput: true}, "prog"},
		{"--timestamp-output --output-dir a/b p", false, Options{TimestampOutput: true, OutputDir: "a/b"}, "p"},
		{"-np 2 alltoall --stall 0", true, Options{N: 2, Stall: -1}, "alltoall"},
		{"alltoall -np 2 -v", true, Options{N: 2, Verbose: true}, "alltoall"},
		{"--window 64M --backing memfd --bind-to core --timeout 2.5 --stall 1h --stall-report 0 --report-bindings p", false,
			Options{Window: 64 << 20, Backing: symmem.BackingMemfd, BindTo: topo.Core, Timeout: 2500 * time.Millisecond,
				Stall: time.Hour, StallReport: -1, ReportBindings: true}, "p"},
	} {
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o := Flags(fs)
		OutputFlags(fs, o)
		require.NoError(t, Parse(fs, strings.Fields(c.args), c.interspersed), c.args)
		require.Equal(t, c.want, *o, c.args)
		require.Equal(t, c.rest, strings.Join(fs.Args(), " "), c.args)
	}
	for args, want := range map[string]string{
		"-n 0 p":           "a job has 1 to 1024 ranks",
		"-n -4 p":          "a job has 1 to 1024 ranks",
		"-n 1025 p":        "a job has 1 to 1024 ranks",
		"-np many p":       "a job has 1 to 1024 ranks",
		"--window 1X p":    "is no size",
		"--timeout -1 p":   "is negative",
		"--bind-to ccx p":  "choose share, core, numa or none",
		"--backing file p": "choose auto, shm or memfd",
		"-x A p":           "no NAME=VALUE",
		"--output-dir= p":  `"" is no directory`,
		"--windows 1G p":   "unknown flag: --windows",
	} {
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		fs.SetOutput(new(bytes.Buffer))
		OutputFlags(fs, Flags(fs))
		require.ErrorContains(t, Parse(fs, strings.Fields(args), false), want, args)
	}
}

func TestTagger(t *testing.T) {
	var out bytes.Buffer
	tag := newTagger(tags{rank: true}.of(12), new(sync.Mutex), kept{&out})
	for _, piece := range []string{"a", "b\n\nc", "", "d\ne\nf"} {
		n, err := tag.Write([]byte(piece))
		require.NoError(t, err)
		require.Equal(t, len(piece), n)
	}
	require.Equal(t, "[12] ab\n[12] \n[12] cd\n[12] e\n", out.String())
	require.NoError(t, tag.Close())
	require.NoError(t, tag.Close())
	require.Equal(t, "[12] ab\n[12] \n[12] cd\n[12] e\n[12] f\n", out.String())

	// With the time at which a line was read.
	out.Reset()
	tag = newTagger(tags{time: true, from: time.Now()}.of(3), new(sync.Mutex), kept{&out})
	_, err := tag.Write([]byte("a\nb\n"))
	require.NoError(t, err)
	require.Regexp(t, `^ {4,}\d+\.\d{6} \[3\] a\n {4,}\d+\.\d{6} \[3\] b\n$`, out.String())

	// A line without an end is not kept for ever.
	tag = newTagger(tags{rank: true}.of(12), new(sync.Mutex), kept{&out})
	out.Reset()
	for range 5 {
		_, err := tag.Write(bytes.Repeat([]byte("x"), maxLine/2))
		require.NoError(t, err)
		require.LessOrEqual(t, len(tag.cut), maxLine)
	}
	require.Equal(t, 2*(maxLine+len("[12] \n")), out.Len())
}
