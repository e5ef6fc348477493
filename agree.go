package symwin

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/symmem"
)

// agree compares the tables that ranks choose engines by: what each does must
// follow from what all know. It is the first collective of a joined world.
//
// A post is the table's digest, and of SYMWIN_ALGO as much as there is room for,
// to be shown.
func agree(ctx context.Context, w *World, said algo) error {
	var mine symmem.Post
	mine[0] = said.digest()
	var text [8 * (symmem.PostWords - 1)]byte
	copy(text[:], env.Get(env.KeyAlgo))
	for i := range mine[1:] {
		mine[1+i] = binary.LittleEndian.Uint64(text[8*i:])
	}
	lane := w.Team().Lane()
	if err := lane.Enter(ctx, &symmem.Record{Op: symmem.OpOpen}); err != nil {
		return err
	}
	posts, err := w.Team().Exchange(ctx, mine)
	if err := lane.Leave(err); err != nil {
		return err
	}
	for r := range posts {
		if posts[r][0] != posts[0][0] {
			return fmt.Errorf("%w: rank %d chooses engines by %s, rank 0 by %s; give all ranks the same %s, and one version of symwin", ErrMismatch,
				r, tableText(posts[r]), tableText(posts[0]), env.KeyAlgo)
		}
	}
	return nil
}

// tableText is a table as a post tells it.
func tableText(p symmem.Post) string {
	var text []byte
	for _, word := range p[1:] {
		text = binary.LittleEndian.AppendUint64(text, word)
	}
	said := strings.TrimRight(string(text), "\x00")
	if said == "" {
		return fmt.Sprintf("table %016x", p[0])
	}
	return fmt.Sprintf("table %016x with %s=%q", p[0], env.KeyAlgo, said)
}
