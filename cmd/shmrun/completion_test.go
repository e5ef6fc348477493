package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

func TestSimilar(t *testing.T) {
	for word, want := range map[string]string{
		"doctr": "doctor", "Doctor": "doctor", "docotr": "doctor", "PS": "ps", "p": "", "bnech": "bench", "benhc": "bench",
		"doctor": "", "./bench": "", "true": "", "": "", "vresion": "version", "cat": "", "clena": "clean",
	} {
		require.Equal(t, want, similar(word), word)
	}
}
