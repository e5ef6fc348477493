package ce

import "sync/atomic"

// completes is the Condition that every member's batch is complete.
type completes Stream

// Look implements shmsync.Condition.
func (c *completes) Look() bool {
	for r := range c.edges {
		if e := &c.edges[r]; r != c.team.Rank() && atomic.LoadUint64(e.completeIn) < e.received {
			return false
		}
	}
	return true
}

// Missing implements shmsync.Condition.
func (c *completes) Missing(into []int) []int {
	for r := range c.edges {
		if e := &c.edges[r]; r != c.team.Rank() && atomic.LoadUint64(e.completeIn) < e.received {
			into = append(into, r)
		}
	}
	return into
}
