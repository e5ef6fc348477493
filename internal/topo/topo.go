// Package topo knows the machine's CPUs, as far as this process may use them,
// and divides them among ranks.
//
// Invariant: a [Plan] names usable CPUs only, and every rank gets at least one
// or is left unbound; the arithmetic that makes it ([Machine.Plan]) is pure, so
// it is tested on machines nobody here owns.
package topo

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CPU is one logical CPU and its place in the machine.
type CPU struct {
	ID   int // the kernel's number
	Core int // the lowest ID among its hardware siblings: the core's name
	Node int // its NUMA node
}

// Machine is a set of CPUs, ordered by node, core and ID, so that neighbours
// in the slice are neighbours in the machine.
type Machine []CPU

// Read looks up core and node of the given CPUs in sys, the tree that Linux
// mounts at /sys. What is not told there is assumed simple: a CPU without
// siblings is a core of its own, one without a node is on node 0. Only a tree
// that contradicts its own format is an error.
func Read(sys fs.FS, ids []int) (Machine, error) {
	nodes, err := nodes(sys)
	if err != nil {
		return nil, err
	}
	cores := make(map[int]int, len(ids))
	m := make(Machine, 0, len(ids))
	for _, id := range ids {
		if _, known := cores[id]; !known {
			siblings, err := readList(sys, fmt.Sprintf("devices/system/cpu/cpu%d/topology/thread_siblings_list", id))
			if err != nil {
				return nil, err
			}
			// One read tells the core of all siblings.
			cores[id] = id
			for _, s := range siblings {
				cores[s] = siblings[0]
			}
		}
		m = append(m, CPU{ID: id, Core: cores[id], Node: nodes[id]})
	}
	slices.SortFunc(m, func(a, b CPU) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Core, b.Core), cmp.Compare(a.ID, b.ID))
	})
	return m, nil
}

// nodes returns the node of each CPU.
func nodes(sys fs.FS) (map[int]int, error) {
	const dir = "devices/system/node"
	of := map[int]int{}
	entries, err := fs.ReadDir(sys, dir)
	if err != nil {
		return of, nil // a kernel without NUMA
	}
	for _, e := range entries {
		number, isNode := strings.CutPrefix(e.Name(), "node")
		node, err := strconv.Atoi(number)
		if !isNode || err != nil {
			continue
		}
		cpus, err := readList(sys, path.Join(dir, e.Name(), "cpulist"))
		if err != nil {
			return nil, err
		}
		for _, id := range cpus {
			of[id] = node
		}
	}
	return of, nil
}

// readList reads a file that holds a CPU list; a missing one is empty.
func readList(sys fs.FS, name string) ([]int, error) {
	text, err := fs.ReadFile(sys, name)
	if err != nil {
		return nil, nil
	}
	list, err := ParseList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("/sys/%s: %w", name, err)
	}
	return list, nil
}

// maxCPU bounds what ParseList takes, far above any kernel's NR_CPUS, so that
// a damaged list cannot ask for gigabytes.
const maxCPU = 1 << 16

// ParseList reads the kernel's notation for sets of CPUs, "0-3,8,10-11".
func ParseList(text string) ([]int, error) {
	var list []int
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		a, errA := strconv.Atoi(low)
		b, errB := strconv.Atoi(high)
		if errA != nil || errB != nil || a < 0 || b < a || b >= maxCPU {
			return nil, fmt.Errorf("%q is no list of CPUs", text)
		}
		for id := a; id <= b; id++ {
			list = append(list, id)
		}
	}
	return list, nil
}

// FormatList writes numbers in the same notation, sorted: "0-3,8,10-11".
func FormatList(list []int) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(list)))
	var b strings.Builder
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(sorted[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(sorted[j]))
		}
		i = j + 1
	}
	return b.String()
}
