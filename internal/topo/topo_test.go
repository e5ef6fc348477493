package topo_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/topo"
	"pgregory.net/rapid"
)

// made builds a machine of the given numbers of cores per node; CPU numbers as
// Linux deals them on most servers: first one thread of every core, then the
// siblings.
func made(threads int, coresOf ...int) topo.Machine {
	total := 0
	for _, c := range coresOf {
		total += c
	}
	var m topo.Machine
	core := 0
	for node, cores := range coresOf {
		for range cores {
			for t := range threads {
				m = append(m, topo.CPU{ID: t*total + core, Core: core, Node: node})
			}
			core++
		}
	}
	return m
}

// without drops CPUs, as taskset or a cpuset does.
func without(m topo.Machine, ids ...int) topo.Machine {
	var out topo.Machine
	for _, c := range m {
		keep := true
		for _, id := range ids {
			keep = keep && c.ID != id
		}
		if keep {
			out = append(out, c)
		}
	}
	return out
}

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name   string
		m      topo.Machine
		policy topo.Policy
		n      int
		want   string // CPU lists by rank; "" unbound
	}{
		{"two CPUs, two ranks", made(1, 2), topo.Share, 2, "0 1"},
		{"two CPUs, one rank", made(1, 2), topo.Share, 1, "0-1"},
		{"more ranks than CPUs", made(1, 2), topo.Share, 3, ""},
		{"no CPU known", nil, topo.Share, 3, ""},
		{"whole cores", made(2, 4), topo.Share, 4, "0,4 1,5 2,6 3,7"},
		{"two cores each", made(2, 4), topo.Share, 2, "0-1,4-5 2-3,6-7"},
		{"does not divide", made(1, 8), topo.Share, 3, "0-1 2-4 5-7"},
		{"more ranks than cores: none gets two halves", made(2, 3), topo.Share, 4, "0 3 1,4 2,5"},
		{"as many as CPUs", made(2, 2), topo.Share, 4, "0 2 1 3"},
		{"inside nodes", made(1, 4, 4), topo.Share, 2, "0-3 4-7"},
		{"inside nodes, three of them", made(1, 4, 4), topo.Share, 3, "0-1 2-3 4-7"},
		{"larger than a node", made(1, 2, 2, 2, 2), topo.Share, 2, "0-3 4-7"},
		{"uneven nodes", made(1, 6, 2), topo.Share, 4, "0-1 2-3 4-5 6-7"},
		{"a sliver of a node is left out", made(1, 7, 1), topo.Share, 2, "0-2 3-6"},
		{"a sibling taken away", without(made(2, 2), 2), topo.Share, 2, "0 1,3"},
		{"core", made(2, 4), topo.Core, 3, "0,4 1,5 2,6"},
		{"core, begun again", made(1, 2), topo.Core, 5, "0 1 0 1 0"},
		{"numa", made(1, 4, 4), topo.NUMA, 3, "0-3 0-3 4-7"},
		{"numa, uneven", made(1, 6, 2), topo.NUMA, 4, "0-5 0-5 0-5 6-7"},
		{"numa, more ranks than CPUs", made(1, 1, 1), topo.NUMA, 4, "0 0 1 1"},
		{"none", made(1, 4), topo.None, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lists []string
			for _, ids := range c.m.Plan(c.policy, c.n) {
				lists = append(lists, topo.FormatList(ids))
			}
			require.Equal(t, c.want, strings.Join(lists, " "))
		})
	}
}

// What share promises on any machine: nobody idle-handed, nobody twice, no core
// cut while there are cores for all, and shares inside a node that differ by one
// core at most.
func TestShareAnyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := rapid.IntRange(1, 4).Draw(t, "threads")
		m := made(threads, rapid.SliceOfN(rapid.IntRange(1, 9), 1, 5).Draw(t, "cores")...)
		n := rapid.IntRange(1, len(m)).Draw(t, "n")
		plan := m.Plan(topo.Share, n)
		require.Len(t, plan, n)

		place := map[int]topo.CPU{}
		cores := map[int]bool{}
		for _, c := range m {
			place[c.ID] = c
			cores[c.Core] = true
		}
		owner := map[int]int{}     // CPU → rank
		coreOwner := map[int]int{} // core → rank
		for r, ids := range plan {
			require.NotEmpty(t, ids)
			mine := map[int]bool{}
			for _, id := range ids {
				require.NotContains(t, owner, id)
				owner[id] = r
				core := place[id].Core
				mine[core] = true
				if n <= len(cores) {
					if o, taken := coreOwner[core]; taken {
						require.Equal(t, o, r, "core %d is cut", core)
					}
					coreOwner[core] = r
				}
			}
			if n > len(cores) {
				require.Len(t, mine, 1, "rank %d has halves of two cores", r)
			} else {
				require.Len(t, ids, len(mine)*threads, "rank %d lacks a sibling", r)
			}
		}
	})
}

func TestRead(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	sys := fstest.MapFS{
		"devices/system/node/node0/cpulist":  file("0-1,4-5"),
		"devices/system/node/node1/cpulist":  file("2-3,6-7"),
		"devices/system/node/node2/cpulist":  file(""), // memory only
		"devices/system/node/possible":       file("0-2"),
		"devices/system/node/nodepower/uevt": file(""),
	}
	for id, siblings := range []string{"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"} {
		sys[fmt.Sprintf("devices/system/cpu/cpu%d/topology/thread_siblings_list", id)] = file(siblings)
	}
	m, err := topo.Read(sys, []int{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	require.Equal(t, topo.Machine{
		{ID: 4, Core: 0, Node: 0}, {ID: 1, Core: 1, Node: 0}, {ID: 5, Core: 1, Node: 0},
		{ID: 2, Core: 2, Node: 1}, {ID: 6, Core: 2, Node: 1}, {ID: 3, Core: 3, Node: 1},
	}, m)

	m, err = topo.Read(fstest.MapFS{}, []int{0, 3})
	require.NoError(t, err, "a tree that tells nothing")
	require.Equal(t, topo.Machine{{ID: 0, Core: 0}, {ID: 3, Core: 3}}, m)

	sys["devices/system/node/node1/cpulist"] = file("2-x")
	_, err = topo.Read(sys, []int{0})
	require.ErrorContains(t, err, `/sys/devices/system/node/node1/cpulist: "2-x" is no list of CPUs`)
}

func TestList(t *testing.T) {
	for _, text := range []string{"", "0", "0-3", "0-3,8,10-11"} {
		list, err := topo.ParseList(text)
		require.NoError(t, err)
		require.Equal(t, text, topo.FormatList(list))
	}
	for _, text := range []string{"-", "3-1", "a", "0,,1", "0-99999999", "-1"} {
		_, err := topo.ParseList(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "1-3", topo.FormatList([]int{3, 1, 2, 2}))
}

// What is read here must be bindable, and what is bound must be read back.
func TestBind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no thread affinity on " + runtime.GOOS)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its binding
		done <- func() error {
			m, err := topo.Here()
			if err != nil {
				return err
			}
			for _, cpu := range m {
				if err := topo.Bind([]int{cpu.ID}); err != nil {
					return err
				}
				if ids, err := topo.Usable(); err != nil || len(ids) != 1 || ids[0] != cpu.ID {
					return fmt.Errorf("bound to %d, read back %v, %v", cpu.ID, ids, err)
				}
			}
			return nil
		}()
	}()
	require.NoError(t, <-done)
}

func ExampleMachine_Plan() {
	// Two nodes of two cores with two siblings each, three ranks.
	m := topo.Machine{
		{ID: 0, Core: 0, Node: 0}, {ID: 4, Core: 0, Node: 0}, {ID: 1, Core: 1, Node: 0}, {ID: 5, Core: 1, Node: 0},
		{ID: 2, Core: 2, Node: 1}, {ID: 6, Core: 2, Node: 1}, {ID: 3, Core: 3, Node: 1}, {ID: 7, Core: 3, Node: 1},
	}
	for rank, cpus := range m.Plan(topo.Share, 3) {
		fmt.Println(rank, topo.FormatList(cpus))
	}
	// Output:
	// 0 0,4
	// 1 1,5
	// 2 2-3,6-7
}
