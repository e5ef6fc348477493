//go:build !symwinfail

package failpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNothingIsThereWithoutTheTag(t *testing.T) {
	require.False(t, Enabled)
	for _, name := range Names {
		Hit(name)
	}
	require.Panics(t, func() { Arm("lane.record:kill") })
}
