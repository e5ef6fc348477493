package symwin_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blind ends a line that stores into a cache line which its receiver is looking
// at. To load from that line first, were it a single byte, takes it from the
// receiver a second time, which costs as much as half the exchange. No program
// text shows such a load: the compiler makes one to see that a pointer is not nil.
const blind = "// blind"

// The compiler says where it has made one.
func TestStoresToPeersDoNotLook(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages")
	}
	marked := map[string]bool{}
	for _, dir := range []string{"window", "lla2a"} {
		require.NoError(t, fs.WalkDir(os.DirFS("."), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
				return err
			}
			text, err := os.ReadFile(name)
			for n, l := range strings.Split(string(text), "\n") {
				if strings.HasSuffix(l, blind) {
					marked[fmt.Sprintf("%s:%d", name, n+1)] = true
				}
			}
			return err
		}))
	}
	require.NotEmpty(t, marked)
	// bench is where the generic ones are compiled, for elements of many sizes.
	build := exec.Command("go", "build", "-gcflags=-d=nil", "./window", "./lla2a", "./bench")
	build.Env = append(os.Environ(), "GOFLAGS=") // -trimpath changes the names, -race the code
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	told, seen := map[string]bool{}, map[string]bool{}
	for l := range bytes.Lines(out) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(string(l), "./"), ":")
		n, what, _ := strings.Cut(rest, ":")
		place := name + ":" + n
		if !marked[place] {
			continue
		}
		told[name] = true // of checks that it needs not make, it says so too
		if strings.Contains(what, "generated nil check") && !seen[place] {
			seen[place] = true
			t.Errorf("%s stores into a line that its receiver looks at, and loads from it first", place)
		}
	}
	for place := range marked {
		name, _, _ := strings.Cut(place, ":")
		require.True(t, told[name], "the compiler says nothing about the stores of %s", name)
	}
}
