package symwin

// Known is how many calls are known on team: kept, and found again. No two are alike.
func Known(team *Team) (n int) {
	e := opened(team)
	seen := map[key]bool{}
	for i := range e.known.calls {
		c := e.known.calls[i].Load()
		if c == nil {
			continue
		}
		op, by := c.call.Op, Op(c.what>>8)
		if _, found := knownCallOf(team, op, by, c.call.Root, c.typ, c.dst, c.src); found == c && !seen[c.key] {
			seen[c.key] = true
			n++
		}
	}
	return n
}

// Kept is how many places are taken.
func Kept(team *Team) (n int) {
	e := opened(team)
	for i := range e.known.calls {
		if e.known.calls[i].Load() != nil {
			n++
		}
	}
	return n
}

// BetweenTwoCalls calls f as another goroutine would between the two calls of one
// operation on team.
func BetweenTwoCalls(team *Team, f func()) error {
	e := opened(team)
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	f()
	return nil
}
