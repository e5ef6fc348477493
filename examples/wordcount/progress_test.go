package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressIsOneLineThatGoesAway(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	require.Nil(t, newProgress(out), "no terminal, no progress")
	written := func() string {
		b, err := os.ReadFile(out.Name())
		require.NoError(t, err)
		return string(b)
	}
	text := func() string { return "at work" }

	p := &progress{out: out, begin: time.Now(), next: time.Now().Add(time.Hour)}
	p.say(text)
	p.clear()
	require.Empty(t, written(), "too early")
	p.next = time.Time{}
	p.say(text)
	p.clear()
	p.clear()
	require.Equal(t, "\r\x1b[K0 s, at work\r\x1b[K", written())
}
