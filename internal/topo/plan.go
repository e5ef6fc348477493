package topo

import (
	"fmt"
	"slices"
)

// Policy says how ranks are bound.
type Policy string

// The policies.
const (
	// Share divides the CPUs evenly: whole cores, inside one NUMA node where
	// a rank's share fits. More ranks than CPUs are not bound at all.
	Share Policy = "share"
	// Core gives each rank one core with all its siblings, in order, and
	// begins again at the first where there are more ranks than cores.
	Core Policy = "core"
	// NUMA gives each rank all CPUs of one node; the ranks are spread over
	// the nodes in proportion to their cores.
	NUMA Policy = "numa"
	// None leaves the ranks where the kernel puts them.
	None Policy = "none"
)

// Policies lists the names of all policies, the default first.
func Policies() []string {
	return []string{string(Share), string(Core), string(NUMA), string(None)}
}

// ParsePolicy reads one of share, core, numa and none.
func ParsePolicy(text string) (Policy, error) {
	if slices.Contains(Policies(), text) {
		return Policy(text), nil
	}
	return "", fmt.Errorf("%q is no binding; choose share, core, numa or none", text)
}

// Plan lists, for each rank, the CPUs it is bound to. A nil Plan binds nobody.
type Plan [][]int

// Plan binds n ranks to the machine's CPUs. Neighbouring ranks get
// neighbouring CPUs, because neighbours talk most where anybody does.
func (m Machine) Plan(p Policy, n int) Plan {
	if len(m) == 0 || n < 1 {
		return nil
	}
	switch {
	case p == Share && n <= len(m):
		return m.share(n)
	case p == Core:
		cores, plan := m.group(byCore), make(Plan, n)
		for r := range plan {
			plan[r] = cores[r%len(cores)].ids()
		}
		return plan
	case p == NUMA:
		nodes := m.group(byNode)
		var plan Plan
		for i, ranks := range proportional(n, nodes, Machine.cores) {
			for range ranks {
				plan = append(plan, nodes[i].ids())
			}
		}
		return plan
	}
	return nil
}

// share divides m among n ≤ len(m) ranks. As long as there are cores enough,
// cores are what is divided; with more ranks than cores, some cores are divided
// too, and never does a rank get halves of two.
func (m Machine) share(n int) Plan {
	unit := Machine.cores
	if n > m.cores() {
		unit = Machine.cpus
	}
	nodes := m.group(byNode)
	if n < len(nodes) { // a share is larger than a node
		return m.divideCores(n)
	}
	var plan Plan
	for i, ranks := range proportional(n, nodes, unit) {
		plan = append(plan, nodes[i].divideCores(ranks)...)
	}
	return plan
}

// divideCores divides m among n ranks along cores, and inside a core only where
// there are more ranks than cores.
func (m Machine) divideCores(n int) Plan {
	var plan Plan
	cores := m.group(byCore)
	if n <= len(cores) {
		for r := range n {
			mine := cores[r*len(cores)/n : (r+1)*len(cores)/n]
			plan = append(plan, slices.Concat(mine...).ids())
		}
		return plan
	}
	for i, ranks := range proportional(n, cores, Machine.cpus) {
		ids := cores[i].ids()
		for r := range ranks {
			plan = append(plan, ids[r*len(ids)/ranks:(r+1)*len(ids)/ranks])
		}
	}
	return plan
}

// proportional says how many of n ranks each group gets: one rank after the
// other goes where its share is the largest, so no group gets more ranks than
// it has units as long as there are units for all.
func proportional(n int, groups []Machine, units func(Machine) int) []int {
	ranks := make([]int, len(groups))
	for range n {
		best := 0
		for i := range groups {
			// units[i]/(ranks[i]+1) > units[best]/(ranks[best]+1)
			if units(groups[i])*(ranks[best]+1) > units(groups[best])*(ranks[i]+1) {
				best = i
			}
		}
		ranks[best]++
	}
	return ranks
}

func byCore(c CPU) int { return c.Core }
func byNode(c CPU) int { return c.Node }

// group cuts m where key changes.
func (m Machine) group(key func(CPU) int) []Machine {
	var groups []Machine
	for i := 0; i < len(m); {
		j := i
		for j < len(m) && key(m[j]) == key(m[i]) {
			j++
		}
		groups = append(groups, m[i:j])
		i = j
	}
	return groups
}

func (m Machine) cpus() int { return len(m) }

func (m Machine) cores() int {
	n := 0
	for i := range m {
		if i == 0 || m[i].Core != m[i-1].Core {
			n++
		}
	}
	return n
}

func (m Machine) ids() []int {
	ids := make([]int, len(m))
	for i, c := range m {
		ids[i] = c.ID
	}
	return ids
}
