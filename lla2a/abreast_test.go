package lla2a

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Only who catches up with a sender again and again stands back, and only as long as
// that lets several messages come.
func TestStandingBackIsForStreams(t *testing.T) {
	stood := func(step int, sends, epochs bool) (n int) {
		var a abreast
		var last sent
		for k := range 100 {
			if sends {
				last.j = k
			}
			in := a.in
			if epochs {
				in++
			}
			if a.waits(1, k*step, in, last) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 100-aStream, stood(aGain, false, false), "a stream")
	require.Equal(t, 100/(aStream+1), stood(1, false, false), "a slow sender, tried now and then")
	require.Zero(t, stood(aGain, true, false), "answers to what was sent")
	require.Zero(t, stood(aGain, false, true), "one message in an epoch")

	var a abreast
	for k := range 100 {
		require.False(t, a.waits(k%2, k, 0, sent{}), "two senders in turns")
	}
}
