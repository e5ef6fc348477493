package symwin

// Known is how many calls are known on team.
func Known(team *Team) (n int) {
	e := opened(team)
	for i := range e.known.calls {
		if e.known.calls[i].Load() != nil {
			n++
		}
	}
	return n
}
