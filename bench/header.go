package bench

import (
	"fmt"
	"io"
	"strings"
)

// comment writes lines that begin with #.
func comment(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(w, "# %s\n", strings.TrimSpace(fmt.Sprintf(format, args...)))
	return err
}

// failures are the peers of which a line has said why they failed.
type failures map[string]bool

// tell says it of those that have failed since, and what a row is without.
func (told failures) tell(w io.Writer, names []string, r Row) error {
	for _, name := range names {
		if without := r.peer(name).without(); without != "" {
			if err := comment(w, "%s: %s", name, without); err != nil {
				return err
			}
		}
		why := strings.Join(strings.Fields(r.peer(name).Failed), " ")
		if why == "" || told[name] {
			continue
		}
		told[name] = true
		if !strings.HasPrefix(why, name) {
			why = name + " failed: " + why
		}
		if err := comment(w, "%s", why); err != nil {
			return err
		}
	}
	return nil
}

// header is what one has to know to compare rows: where and with what they were
// measured, and what the figures mean.
func header(w io.Writer, j *job, m Meta) error {
	lines := []string{
		fmt.Sprintf("%s: %s", j.op.name, j.op.text),
		strings.TrimSuffix(strings.Join([]string{m.Host, m.CPU, m.Kernel, m.Go, "symwin " + m.Commit}, "; "), "; symwin "),
		fmt.Sprintf("%s, %s; engine %s%s", count(j.Ranks, "rank"), m.Bind, j.engine, j.wherein()),
		fmt.Sprintf("times in µs, the slowest rank's, over %s; GB/s in 1e9; of limit: p50 ÷ what the machine allows", j.blocks()),
		m.Command,
	}
	if j.op.total != nil {
		lines = append(lines[:3], append([]string{touched[j.touch]}, lines[3:]...)...)
	}
	for _, name := range j.peers {
		p := m.Peers[name]
		switch {
		case p.Note == "":
			lines = append(lines, fmt.Sprintf("%s: %s: %s", name, p.Version, p.Command))
		case strings.HasPrefix(p.Note, name):
			lines = append(lines, p.Note)
		default:
			lines = append(lines, name+": "+p.Note)
		}
	}
	for _, l := range lines {
		if err := comment(w, "%s", l); err != nil {
			return err
		}
	}
	return nil
}

// wherein says where the data goes, where there is a choice.
func (j *job) wherein() string {
	switch {
	case j.op.total == nil || j.op.pairs: // no collective that moves data
		return ""
	case j.inPlace && j.dst == dstPrivate:
		return ", in place in private memory"
	case j.inPlace:
		return ", in place in a window"
	case j.dst == dstPrivate:
		return ", private memory into private memory"
	}
	return ", private memory into a window"
}

// touched says what --touch means.
var touched = map[string]string{
	touchNone: "touch none: nobody reads the data inside the clock, which flatters whoever leaves it in the sender's cache",
	touchRead: "touch read: the receiver reads every byte inside the clock",
	touchFull: "touch full: the sender rewrites and the receiver reads every byte inside the clock",
}
