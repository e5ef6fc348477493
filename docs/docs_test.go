// Package docs_test holds the pages against the programs: code in them is code of
// this repository, commands run or are checked, errors in the FAQ are ones that the source has,
// links lead somewhere. A page that says what is no longer so fails.
//
// Fences of the pages say by their first word what they are:
//
//	```go           an excerpt of a .go file here, tests included; indentation aside
//	```c mpi        compiled, where there is mpicc; c shmem: where there is oshcc
//	```c elsewhere  the code of somebody else, for reading; go elsewhere, too
//	```sh           is run, in a directory that looks like the repository's; make
//	                only says what it would do, since that is what this test is part of
//	```sh long      takes too long to be run here, or needs what is not here (docker,
//	```sh elsewhere Slurm): its syntax, flags and make targets are checked
//	```             shows an output; what stands behind a prompt in it ("$ make run")
//	                is run, make too
//
// Commands inside a sentence are checked like those that take too long.
package docs_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
)

const root = ".."

// pages are all that is written for people.
func pages(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/README.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			all[name[len(root)+1:]] = string(text)
		}
	}
	require.Contains(t, all, "README.md")
	require.Contains(t, all, "docs/FAQ.md")
	return all
}

// A fence is a block of code in a page.
type fence struct{ at, info, text string }

func fences(t *testing.T, language string) (found []fence) {
	for name, page := range pages(t) {
		var open *fence
		for i, line := range strings.Split(page, "\n") {
			info, is := strings.CutPrefix(line, "```")
			switch {
			case is && open == nil:
				open = &fence{at: fmt.Sprintf("%s:%d", name, i+1), info: info}
			case is:
				if strings.Fields(open.info + " .")[0] == language {
					found = append(found, *open)
				}
				open = nil
			case open != nil:
				open.text += line + "\n"
			}
		}
		require.Nil(t, open, "%s: a fence is not closed", name)
	}
	slices.SortFunc(found, func(a, b fence) int { return strings.Compare(a.at, b.at) })
	require.NotEmpty(t, found)
	return found
}

// goFiles calls f with every Go file of the repository.
func goFiles(t *testing.T, f func(name, text string)) {
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		base := filepath.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (base == "testdata" || base == "bin" || base == "tools" || strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := os.ReadFile(name)
		f(name, string(text))
		return err
	}))
}

// flush is text without indentation.
func flush(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("\n" + strings.TrimSpace(line))
	}
	return b.String() + "\n"
}

// TestCodeIsOfThisRepository: what a page shows is compiled and tested.
func TestCodeIsOfThisRepository(t *testing.T) {
	shown := slices.DeleteFunc(fences(t, "go"), func(f fence) bool { return f.info == "go elsewhere" })
	seen := make([]bool, len(shown))
	goFiles(t, func(_, text string) {
		text = flush(text)
		for i, f := range shown {
			seen[i] = seen[i] || strings.Contains(text, flush(f.text))
		}
	})
	for i, f := range shown {
		if !seen[i] {
			t.Errorf("%s: this code is in no file:\n%s", f.at, f.text)
		}
	}
}

// declared is what the code for others speaks of.
const declared = `
#include <stdint.h>
#include <stdlib.h>
char *src, *dst;
int *send_counts, *recv_counts, *send_at, *recv_at, ranks, rank, peer, n, unit;
double *mine, *theirs, value;
`

// TestCodeForOthersCompiles: what they are compared with is theirs.
func TestCodeForOthersCompiles(t *testing.T) {
	compilers := map[string]struct{ name, head string }{
		"c mpi":   {"mpicc.openmpi", "#include <mpi.h>\nMPI_Win win;\nMPI_Aint size;\nMPI_Comm half;\n"},
		"c shmem": {"oshcc", "#include <shmem.h>\n"},
	}
	for _, f := range fences(t, "c") {
		if f.info == "c elsewhere" {
			continue
		}
		t.Run(f.at, func(t *testing.T) {
			c, ok := compilers[f.info]
			require.True(t, ok, "a fence %q: it is c mpi, c shmem or c elsewhere", f.info)
			path, err := exec.LookPath(c.name)
			if err != nil {
				t.Skip(c.name, " is not installed here (Debian: libopenmpi-dev)")
			}
			compile := exec.Command(path, "-x", "c", "-Wall", "-Werror", "-fsyntax-only", "-")
			compile.Stdin = strings.NewReader(declared + c.head + "void page(void)\n{\n" + f.text + "}\n")
			out, err := compile.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// programs are built into bin/ for the commands of the pages.
var programs = []string{"./cmd/shmrun", "./examples/hello", "./examples/wordcount", "./examples/sort", "./examples/fft", "./examples/pipeline"}

// likeTheRepository is a directory in which commands can run and leave files.
func likeTheRepository(t *testing.T) string {
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	entries, err := os.ReadDir(here)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != "bin" {
			require.NoError(t, os.Symlink(filepath.Join(here, e.Name()), filepath.Join(dir, e.Name())))
		}
	}
	build := exec.Command("go", append([]string{"build", "-o", filepath.Join(dir, "bin") + "/"}, programs...)...)
	build.Dir = here
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	command, err := exec.LookPath("go")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "path"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "path", "go"), fmt.Appendf(nil, goThere, filepath.Join(dir, "bin"), command, here), 0o777))
	return dir
}

// goThere is the pages' go: it works where its packages are, and where all of them
// are compiled already.
const goThere = `#!/bin/sh
case "$*" in
"build -o bin/ "*) shift 3; set -- build -o %q/ "$@" ;;
esac
exec %q -C %q "$@"
`

// bash runs a script and returns what it writes.
func bash(t *testing.T, dir, shm, script string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), ranktest.Watchdog)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail")
	c.Stdin, c.Dir = strings.NewReader(script), dir
	// Below "make test" a make would be part of that.
	c.Env = append(os.Environ(), "GOFLAGS=", "MAKEFLAGS=", "MAKELEVEL=0", "SYMWIN_SHM_DIR="+shm, "PATH="+filepath.Join(dir, "path")+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	return string(out), err
}

// onlySay lets make say what it would do: it does what the pages' own test is part
// of.
const onlySay = `make() { command make -n "$@"; }
`

func TestCommandsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts programs")
	}
	dir := likeTheRepository(t)
	// Pages clean up, too; what other tests have left to be found is not theirs.
	shm, err := ranktest.ShmDir("pages-*")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.Remove(shm), "the pages' jobs have left something") })
	h := helps{dir: dir, known: map[string]flags{}}
	for _, f := range fences(t, "sh") {
		t.Run(f.at, func(t *testing.T) {
			switch f.info {
			case "sh":
				out, err := bash(t, dir, shm, onlySay+f.text)
				require.NoError(t, err, "%s%s", f.text, out)
			case "sh long", "sh elsewhere":
				out, err := bash(t, dir, shm, "function page {\n"+f.text+"\n}\n")
				require.NoError(t, err, "%s%s", f.text, out)
				for line := range strings.Lines(f.text) {
					h.check(t, line)
				}
			default:
				t.Fatalf("a fence %q: it is sh (run), sh long or sh elsewhere (checked)", f.info)
			}
		})
	}
	for _, f := range fences(t, ".") {
		for _, session := range prompt.FindAllStringSubmatch(f.text, -1) {
			t.Run(f.at, func(t *testing.T) {
				out, err := bash(t, dir, shm, session[1])
				require.NoError(t, err, "%s\n%s", session[1], out)
				first, _, _ := strings.Cut(out, "\n")
				require.Contains(t, f.text, first+"\n", "the page shows another output")
			})
		}
	}
	t.Run("inline", func(t *testing.T) {
		for name, page := range pages(t) {
			for _, m := range inline.FindAllStringSubmatch(page, -1) {
				t.Log(name, m[1])
				h.check(t, m[1])
			}
		}
	})
}

// prompt is a command in a session that is shown, inline one in a text.
var (
	prompt = regexp.MustCompile(`(?m)^\$ (.*)$`)
	inline = regexp.MustCompile("`((?:bin/)?shmrun [^`\n]*|make [^`\n]*)`")
)

// flags are those that a program's help speaks of, and whether they have a value.
type flags map[string]bool

// helps asks programs for their help once each.
type helps struct {
	dir   string
	known map[string]flags
}

var flagInHelp = regexp.MustCompile(`(?m)^\s+(?:(-\w), )?(--[\w-]+)( [A-Za-z\[<]\S*)?`)

func (h *helps) of(t *testing.T, program ...string) flags {
	key := strings.Join(program, " ")
	if h.known[key] == nil {
		c := exec.Command(filepath.Join(h.dir, "bin", program[0]), append(program[1:], "--help")...)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s: %s", key, out)
		f := flags{"--help": false, "-h": false}
		for _, m := range flagInHelp.FindAllStringSubmatch(string(out), -1) {
			for _, name := range m[1:3] {
				f[name] = m[3] != ""
			}
			if m[1] != "" {
				f["-"+m[2][2:]] = m[3] != "" // shmrun takes -np as mpirun does
			}
		}
		h.known[key] = f
	}
	return h.known[key]
}

var commands = []string{"bench", "ps", "clean", "doctor", "completion", "man", "help", "version"}

// check looks at the flags of shmrun and of our programs, and at make's targets,
// in a line of shell that is not run.
func (h *helps) check(t *testing.T, line string) {
	line, _, _ = strings.Cut(line, " #")
	for _, simple := range regexp.MustCompile(`[|&;()]+|\$\(`).Split(line, -1) {
		words := strings.Fields(simple)
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:] // variables
		}
		if len(words) > 0 && words[0] == "make" {
			for _, target := range words[1:] {
				if !strings.ContainsAny(target, "=…") {
					out, err := exec.Command("make", "-n", "-C", root, target).CombinedOutput()
					require.NoError(t, err, "%s%s", line, out)
				}
			}
			continue
		}
		for i, w := range words {
			if slices.ContainsFunc(programs, func(p string) bool { return filepath.Base(p) == filepath.Base(w) && (i == 0 || w != filepath.Base(w)) }) {
				h.command(t, line, filepath.Base(w), words[i+1:])
				break
			}
		}
	}
}

func (h *helps) command(t *testing.T, line, program string, words []string) {
	name := []string{program}
	isLauncher := program == "shmrun"
	if isLauncher && len(words) > 0 && slices.Contains(commands, words[0]) {
		name, words, isLauncher = append(name, words[0]), words[1:], false
	}
	if slices.Contains([]string{"help", "version"}, name[len(name)-1]) {
		return
	}
	known := h.of(t, name...)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--" || isLauncher && !strings.HasPrefix(w, "-"):
			return // another program
		case strings.HasPrefix(w, "-"):
			flag, _, joined := strings.Cut(w, "=")
			value, ok := known[flag]
			require.True(t, ok, "%s: %s has no flag %s", line, strings.Join(name, " "), flag)
			if value && !joined {
				i++
			}
		}
	}
}

// verb is what stands in for a value in a format, and in a heading of the FAQ.
var verb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z]`)

// texts are the string constants of the source that is no test, with … for values.
func texts(t *testing.T) (all []string) {
	goFiles(t, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					all = append(all, verb.ReplaceAllString(strings.ReplaceAll(s, "%%", "%"), "…"))
				}
			}
			return true
		})
	})
	return all
}

// TestErrorsOfTheFAQExist: a heading is part of a string constant.
func TestErrorsOfTheFAQExist(t *testing.T) {
	all := texts(t)
	page := pages(t)["docs/FAQ.md"]
	headings := regexp.MustCompile("(?m)^### (.*)$").FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, headings)
	for _, h := range headings {
		text := strings.Trim(h[1], "`")
		require.Equal(t, "`"+text+"`", h[1], "a heading of the FAQ is an error's text")
		require.True(t, slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, text) }), "no string of the source has %q", text)
	}
}

// TestLinksLeadSomewhere looks at those within the repository.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|src="([^"]+)"`)
	for name, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			target, _, _ := strings.Cut(m[1]+m[2], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(root, filepath.Dir(name), target))
			require.NoError(t, err, name)
		}
	}
}

// TestPicturesAreWellFormed: a browser shows nothing of a drawing that is not.
func TestPicturesAreWellFormed(t *testing.T) {
	names, err := filepath.Glob("*.svg")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(text, []byte("<svg xmlns=")), name)
		for d := xml.NewDecoder(bytes.NewReader(text)); ; {
			if _, err = d.Token(); err != nil {
				break
			}
		}
		require.Equal(t, io.EOF, err, name)
	}
}
