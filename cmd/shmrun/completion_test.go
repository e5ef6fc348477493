package main

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/bench"
)

// Flags come and go; what completion knows of their values is of flags that are,
// and the words it offers are taken.
func TestChoicesAreOfFlags(t *testing.T) {
	offered := map[string]string{}
	for _, c := range append(shown(), ownCommand{flags: runFlags()}) {
		for _, f := range each(c.flags) {
			words := choices(f)
			offered[f.Name] = words
			if files[f.Name] != "" || words == "" {
				continue
			}
			for word := range strings.FieldsSeq(words) {
				require.NoError(t, f.Value.Set(word), "--%s %s", f.Name, word)
			}
			if f.Name != "engine" {
				require.Error(t, f.Value.Set("else"), f.Name)
			}
		}
	}
	for name := range files {
		require.Contains(t, offered, name)
	}
	require.Equal(t, "share core numa none", offered["bind-to"])
	require.Contains(t, strings.Fields(offered["engine"]), "bcopy")
	require.Contains(t, strings.Fields(offered["peer"]), "openmpi")
}

// The flags that are completed behind a word are those that bench takes there. The last
// word is always too much, so nothing is ever measured.
func TestWordsTakeWhatBenchTakes(t *testing.T) {
	_, flags := bench.Words()
	value := map[string]string{"check": "on", "bind-to": "none", "backing": "shm", "format": "csv", "touch": "none", "dst": "window",
		"peer": "none", "env": "A=b", "plot": "a.svg", "window": "1M"}
	for _, n := range narrow() {
		for _, f := range each(flags) {
			arg := "--" + f.Name
			if takesValue(f) {
				arg += "=" + cmp.Or(value[f.Name], "2")
			}
			var errs bytes.Buffer
			require.Equal(t, exitUsage, benchmark([]string{n.Name, arg, "a", "b", "too-much"}, io.Discard, &errs))
			refused := strings.Contains(errs.String(), " has no --"+f.Name)
			require.Equal(t, n.Takes(f.Name), !refused, "%s %s: %s", n.Name, arg, errs.String())
		}
	}
}

func TestSimilar(t *testing.T) {
	for word, want := range map[string]string{
		"doctr": "doctor", "Doctor": "doctor", "docotr": "doctor", "PS": "ps", "p": "", "bnech": "bench", "benhc": "bench",
		"doctor": "", "./bench": "", "true": "", "": "", "vresion": "version", "cat": "", "clena": "clean",
	} {
		require.Equal(t, want, similar(word), word)
	}
}
