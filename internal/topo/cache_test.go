package topo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAMDFamily(t *testing.T) {
	require.Equal(t, 26, amdFamily("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"))
	require.Equal(t, 25, amdFamily("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nprocessor\t: 1\ncpu family\t: 26\n"))
	require.Equal(t, 1, amdFamily("vendor_id\t: AuthenticAMD\n"), "some family")
	require.Zero(t, amdFamily("vendor_id\t: GenuineIntel\ncpu family\t: 6\n"))
	require.Zero(t, amdFamily(""))
}
