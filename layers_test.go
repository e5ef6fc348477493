package symwin_test

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const module = "github.com/symwin/symwin"

// layers is the table of the design, lowest first: a package imports packages of
// lower rows only, so that each can be read, tested and trusted without those
// above it. A row that ends in a slash is every package below that folder.
var layers = [][]string{
	{"epoch", "internal/env", "internal/line", "internal/futex", "internal/topo", "internal/reduce"},
	{"internal/failpoint"},
	{"internal/shm"},
	{"sync", "internal/ranktest", "internal/guardian"},
	{"symmem"},
	{"window"},
	{"lla2a", "ce"},
	{"."},
	{"internal/launch"},
	{"bench/peers", "bench/chart", "internal/doctor"},
	{"bench/report"},
	{"bench", "internal/soak"},
	{"examples/internal/program"},
	{"examples/internal/programtest"},
	{"cmd/", "examples/"},
}

// only narrows the table for packages that keep themselves ignorant on purpose:
// waiting knows words and no ranks; engines and everything above them get their
// memory from a window; an example shows what any program may do.
var only = map[string][]string{
	"epoch":                     {},
	"internal/guardian":         {"internal/shm"},
	"sync":                      {"internal/failpoint", "internal/futex", "internal/line"},
	"lla2a":                     {"epoch", "internal/env", "internal/failpoint", "internal/line", "sync", "symmem", "window"},
	"ce":                        {"epoch", "internal/env", "internal/failpoint", "internal/line", "internal/topo", "sync", "symmem", "window"},
	"bench/chart":               {"internal/env"},
	"bench/report":              {"bench/chart"},
	"examples/internal/program": {"."},
	"examples/":                 {"epoch", "symmem", "window", "lla2a", "ce", ".", "examples/internal/program"},
}

// rawSuffixes end the names of the files in which unsafe code and system calls
// may stand, so that a listing of the folder shows what needs the closest look.
var rawSuffixes = []string{"_unsafe.go", "_linux.go", "_unix.go", "_amd64.go", "_arm64.go", "_test.go"}

var rawImports = []string{"unsafe", "syscall", "golang.org/x/sys/unix"}

// TestTheTreeKeepsItsLayers reads the source of every package, whatever system it
// is for, and so needs neither the go tool nor the network.
func TestTheTreeKeepsItsLayers(t *testing.T) {
	complaints, packages := inspect(t, os.DirFS("."))
	require.Contains(t, packages, "epoch", "the tree was not found")
	require.Empty(t, complaints, strings.Join(complaints, "\n"))
}

// inspect returns what is wrong with the module in tree, one line each, and the
// folders in which it found packages.
func inspect(t *testing.T, tree fs.FS) (complaints, packages []string) {
	t.Helper()
	comments := map[string]string{} // folder → package comment
	complain := func(format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf(format, args...))
	}
	fset := token.NewFileSet()
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (base == "testdata" || base == "bin" || name == "tools" || strings.HasPrefix(base, ".")):
			return fs.SkipDir // no packages of this module
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ignored(file) {
			return nil
		}
		inspectRaw(name, file, complain)
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		folder := path.Dir(name)
		if _, known := comments[folder]; !known {
			comments[folder] = ""
			packages = append(packages, folder)
		}
		comments[folder] += file.Doc.Text()
		inspectImports(name, file, complain)
		if !strings.HasPrefix(folder, "cmd/") && !strings.HasPrefix(folder, "examples/") && folder != "bench" {
			inspectClock(name, file, complain)
		}
		return nil
	})
	require.NoError(t, err)

	for _, folder := range packages {
		if level(folder) < 0 {
			complain("%s: is in no row of the layer table; give it one, as low as it can stand", folder)
		}
		text := strings.Join(strings.Fields(comments[folder]), " ")
		if text == "" || text == new(doc.Package).Synopsis(text) {
			complain("%s: the package comment has to say more than one sentence: what it is for, and the invariant it keeps", folder)
		}
	}
	return complaints, packages
}

// inspectImports holds the imports of one file that is no test against the table.
func inspectImports(name string, file *ast.File, complain func(string, ...any)) {
	from := path.Dir(name)
	for _, imported := range imports(file) {
		to, ours := strings.CutPrefix(imported, module)
		if !ours || to != "" && to[0] != '/' {
			continue
		}
		if to = strings.TrimPrefix(to, "/"); to == "" {
			to = "."
		}
		if level(to) < 0 || level(to) >= level(from) && level(from) >= 0 {
			complain("%s: imports %s, which does not lie below %s", name, to, from)
		} else if allowed, narrow := only[key(from)]; narrow && !slices.Contains(allowed, to) {
			complain("%s: imports %s, and %s is to know nothing but %v", name, to, from, allowed)
		}
	}
}

// inspectRaw looks for unsafe code and system calls outside the files for them.
func inspectRaw(name string, file *ast.File, complain func(string, ...any)) {
	if slices.ContainsFunc(rawSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) {
		return
	}
	for _, imported := range imports(file) {
		if slices.Contains(rawImports, imported) {
			complain("%s: imports %s; that belongs in a file named *%s", name, imported, strings.Join(rawSuffixes[:len(rawSuffixes)-1], ", *"))
		}
	}
}

// inspectClock looks for readings of the wall clock. Ranks may sit in different
// time namespaces and clocks are set while jobs run, so a library measures with
// differences of time.Now, which are monotonic, and never keeps a date.
func inspectClock(name string, file *ast.File, complain func(string, ...any)) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			method, ok := node.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			dated := len(node.Args) == 0 && slices.Contains([]string{"Unix", "UnixMilli", "UnixMicro", "UnixNano"}, method.Sel.Name)
			monotonic := slices.Contains([]string{"Add", "Sub", "Before", "After", "Equal", "Compare"}, method.Sel.Name)
			if dated || isTimeNow(method.X) && !monotonic {
				complain("%s: %s reads the wall clock; use differences of time.Now", name, method.Sel.Name)
			}
		case *ast.SelectorExpr:
			if slices.Contains([]string{"CLOCK_REALTIME", "CLOCK_REALTIME_COARSE", "CLOCK_TAI", "Gettimeofday"}, node.Sel.Name) {
				complain("%s: %s reads the wall clock; use CLOCK_MONOTONIC", name, node.Sel.Name)
			}
		}
		return true
	})
}

// isTimeNow tells whether x is the call time.Now().
func isTimeNow(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	now, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || now.Sel.Name != "Now" {
		return false
	}
	pkg, ok := now.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}

// key is the entry of the table that a package falls under, or "".
func key(folder string) string {
	for _, row := range layers {
		for _, entry := range row {
			if folder == entry || strings.HasSuffix(entry, "/") && strings.HasPrefix(folder, entry) {
				return entry
			}
		}
	}
	return ""
}

// level is the row of the table that a package stands in, or -1.
func level(folder string) int {
	k := key(folder)
	return slices.IndexFunc(layers, func(row []string) bool { return slices.Contains(row, k) })
}

func imports(file *ast.File) (paths []string) {
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// ignored tells whether a file is a program to be run by hand, in no package.
func ignored(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if expr, err := constraint.Parse(comment.Text); err == nil && comment.Pos() < file.Package {
				if tag, ok := expr.(*constraint.TagExpr); ok && tag.Tag == "ignore" {
					return true
				}
			}
		}
	}
	return false
}

// TestFewNames: the front door stays small enough to be known by heart.
func TestFewNames(t *testing.T) {
	var names []string
	files, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for name := range file.Scope.Objects { // methods are none of them
			if ast.IsExported(name) {
				names = append(names, name)
			}
		}
	}
	require.Contains(t, names, "AllToAll")
	require.LessOrEqual(t, len(names), 60, "%v", names)
}

// TestLayersAreEnforced makes every mistake once, in a tree of a few lines.
func TestLayersAreEnforced(t *testing.T) {
	const comment = "// Package p is for this. It keeps that.\n"
	source := func(imports ...string) string {
		text := comment + "package p\n"
		for _, path := range imports {
			text += "import _ " + strconv.Quote(path) + "\n"
		}
		return text
	}
	clock := func(statement string) string {
		return source() + "import \"time\"\nfunc f() { " + statement + " }\n"
	}
	for what, c := range map[string]struct {
		name, text string
		want       string // part of the one complaint; empty: none
	}{
		"down":                          {"window/a.go", source(module+"/symmem", "fmt"), ""},
		"down to the root":              {"cmd/shmrun/a.go", source(module), ""},
		"down, but to what is hidden":   {"sync/a.go", source(module + "/internal/shm"), "to know nothing but"},
		"up":                            {"symmem/a.go", source(module + "/window"), "does not lie below"},
		"up to the root":                {"internal/shm/a.go", source(module), "does not lie below"},
		"sideways":                      {"lla2a/a.go", source(module + "/ce"), "does not lie below"},
		"bottom":                        {"epoch/a.go", source(module + "/internal/env"), "does not lie below"},
		"up, in a test":                 {"symmem/a_test.go", source(module + "/window"), ""},
		"up, on another system":         {"symmem/a_darwin.go", source(module + "/window"), "does not lie below"},
		"into a command":                {"bench/a.go", source(module + "/cmd/shmrun"), "does not lie below"},
		"from a place not in the table": {"util/a.go", source(), "in no row of the layer table"},
		"to a place not in the table":   {"symmem/a.go", source(module + "/util"), "does not lie below"},
		"an example that peeks":         {"examples/hello/a.go", source(module + "/internal/shm"), "to know nothing but"},
		"a neighbour by name only":      {"symmem/a.go", source(module + "extra/window"), ""},
		"not built":                     {"symmem/a.go", "//go:build ignore\n\n" + source(module+"/window"), ""},
		"a module of its own":           {"tools/a.go", source(module + "/window"), ""},

		"unsafe":               {"window/copy.go", source("unsafe"), "imports unsafe"},
		"unsafe, said so":      {"window/copy_unsafe.go", source("unsafe"), ""},
		"system calls":         {"window/copy.go", source("golang.org/x/sys/unix"), "imports golang.org/x/sys/unix"},
		"system calls, said":   {"window/copy_linux.go", source("syscall"), ""},
		"unsafe in a command":  {"cmd/shmrun/a.go", source("syscall"), "imports syscall"},
		"unsafe in a test":     {"window/copy_test.go", source("unsafe"), ""},
		"unsafe in name alone": {"window/unsafe.go", source("unsafe"), "imports unsafe"},

		"no comment":       {"window/a.go", "package p\n", "more than one sentence"},
		"one sentence":     {"window/a.go", "// Package p is for this.\npackage p\n", "more than one sentence"},
		"a detached one":   {"window/a.go", comment + "\npackage p\n", "more than one sentence"},
		"two sentences":    {"window/a.go", comment + "package p\n", ""},
		"command, no text": {"cmd/shmrun/a.go", "package main\n", "more than one sentence"},

		"date":                  {"window/a.go", clock("_ = time.Now().UnixNano()"), "wall clock"},
		"date by a variable":    {"window/a.go", clock("now := time.Now(); _ = now.Unix()"), "wall clock"},
		"date as text":          {"window/a.go", clock("_ = time.Now().Format(time.Kitchen)"), "wall clock"},
		"date in the kernel":    {"window/a_linux.go", source() + "var c = unix.CLOCK_REALTIME\n", "wall clock"},
		"date in a test":        {"window/a_test.go", clock("_ = time.Now().UnixNano()"), ""},
		"date in a command":     {"cmd/shmrun/a.go", clock("_ = time.Now().UnixNano()"), ""},
		"difference":            {"window/a.go", clock("start := time.Now(); _ = time.Since(start)"), ""},
		"deadline":              {"window/a.go", clock("_ = time.Now().Add(time.Second)"), ""},
		"a date that was given": {"window/a.go", clock("_ = time.Unix(1, 0)"), ""},
	} {
		t.Run(what, func(t *testing.T) {
			complaints, _ := inspect(t, fstest.MapFS{c.name: {Data: []byte(c.text)}})
			if c.want == "" {
				require.Empty(t, complaints)
				return
			}
			require.Len(t, complaints, 1)
			require.Contains(t, complaints[0], c.want)
			require.Contains(t, complaints[0], path.Dir(c.name))
		})
	}
}
