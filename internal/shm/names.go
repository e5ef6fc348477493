package shm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/symwin/symwin/internal/env"
)

// prefix begins the name of every region file, whoever owns it.
const prefix = "symwin-"

// Dir is the directory in which regions have their names: /dev/shm, or
// SYMWIN_SHM_DIR, an absolute path, where that is set. It is read anew by each
// call; a File remembers the directory it was opened in.
func Dir() string { return env.Get(env.KeyShmDir) }

// Name is the name of this user's region for a job: symwin-<uid>-<job>. The
// effective uid is in it so that two users with one job key do not meet.
func Name(job string) string { return ownPrefix() + job }

// ownPrefix begins the names of this user's regions; Sweep looks at no others.
func ownPrefix() string { return fmt.Sprintf("%s%d-", prefix, os.Geteuid()) }

// locate checks a region's name and gives its path in Dir. White space is
// refused because the kernel writes " (deleted)" behind the path of an unlinked
// file, and FindOpen has to tell the two apart.
func locate(name string) (path string, err error) {
	dir := Dir()
	switch {
	case !filepath.IsAbs(dir):
		return "", fmt.Errorf("shm: %s=%q is not an absolute path: ranks with other working directories would look elsewhere", env.KeyShmDir, dir)
	case !strings.HasPrefix(name, ownPrefix()) || len(name) == len(ownPrefix()):
		return "", fmt.Errorf("shm: %q cannot be a region's name: it must be %s<job>", name, ownPrefix())
	case len(name) > 255:
		return "", fmt.Errorf("shm: the region's name has %d bytes, 255 are allowed: choose a shorter job key", len(name))
	}
	for _, r := range name {
		if r == '/' || r == unicode.ReplacementChar || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return "", fmt.Errorf("shm: %q cannot be a region's name: %q is not allowed in a job key", name, r)
		}
	}
	return filepath.Join(dir, name), nil
}

// Magic is how every region begins; without it a file is not swept.
const Magic = "SYMWIN\x00\x01"
