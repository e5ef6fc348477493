package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/bench/peers"
)

// A signal while peers are opened ends all: what is open is closed, and no new file
// is left.
func TestASignalBeforeTheRanksStart(t *testing.T) {
	for _, command := range []string{"barrier -n 2", "all -n 2"} {
		for _, by := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(command+" "+by.String(), func(t *testing.T) {
				dir := t.TempDir()
				name := func(s string) string { return filepath.Join(dir, s) }
				require.NoError(t, os.WriteFile(name("old.html"), []byte("last week's"), 0o644))
				var out, errs bytes.Buffer
				var closed []string
				args := append(strings.Fields(command), "--peer", "openmpi,mpich,unix", "--out", name("new"), "--report", name("old.html"))
				code := mainWith(t.Context(), args, &out, &errs, func(ctx context.Context, name string, _ peers.Job) (peers.Peer, error) {
					switch name {
					case "mpich":
						require.NoError(t, syscall.Kill(os.Getpid(), by))
						<-ctx.Done()
						return nil, ctx.Err()
					case "unix":
						t.Error("nothing more is opened")
					}
					return &fake{name: name, closed: &closed}, nil
				})
				require.Equal(t, 128+int(by), code)
				require.Equal(t, "shmrun bench: ended by: "+by.String()+"\n", errs.String())
				require.Equal(t, []string{"openmpi"}, closed)
				require.NoFileExists(t, name("new"))
				text, err := os.ReadFile(name("old.html"))
				require.NoError(t, err)
				require.Equal(t, "last week's", string(text))
			})
		}
	}
}
