package peers

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed mpi
var sources embed.FS

// flags build the program as a user would who wants speed on this machine.
var flags = []string{"-O3", "-march=native", "-w"}

// build compiles the MPI program, unless the user's cache has it already. Where
// that directory cannot be used the program stays in the tree's own.
func (t *tree) build(ctx context.Context, m *mpi, version string) (path string, err error) {
	compiler, err := t.output(ctx, versionTimeout, []string{m.mpicc, "--version"})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(t.temp, "mpi")
	if err := os.CopyFS(t.temp, sources); err != nil {
		return "", err
	}
	key := sha256.New()
	// Native code is for this very CPU, and a home may be on many machines.
	fmt.Fprintf(key, "%q %q %q %q\n", version, compiler, flags, cpu())
	files, err := fs.Glob(sources, "mpi/*")
	if err != nil {
		return "", err
	}
	argv := append(append([]string{m.mpicc}, flags...), "-o", filepath.Join(t.temp, "program"))
	for _, name := range files {
		text, err := sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(key, "%q %q\n", name, text)
		if strings.HasSuffix(name, ".c") {
			argv = append(argv, filepath.Join(dir, filepath.Base(name)))
		}
	}
	built := filepath.Join(t.temp, "program")
	cached := ""
	if cache, err := os.UserCacheDir(); err == nil {
		cached = filepath.Join(cache, "symwin", "peers", m.name+"-"+hex.EncodeToString(key.Sum(nil)[:8]))
		if info, err := os.Stat(cached); err == nil && info.Mode()&0o100 != 0 {
			return cached, nil
		}
	}
	if _, err := t.output(ctx, buildTimeout, argv); err != nil {
		return "", err
	}
	if cached != "" && keep(built, cached) == nil {
		return cached, nil
	}
	return built, nil
}

// keep copies a program to where it will be found the next time. It appears there
// at once and whole, whoever else does the same.
func keep(program, cached string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(cached), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(cached), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if e := f.Chmod(0o755); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), cached)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// cpu is what tells one kind of CPU from another.
var cpu = sync.OnceValue(func() (kind string) {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && lines.Text() != "" { // the first CPU
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.TrimSpace(name) {
		case "model name", "flags", "CPU part", "Features":
			kind += value
		}
	}
	return kind
})
