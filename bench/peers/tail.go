package peers

import (
	"strings"
	"sync"
)

// tail keeps the end of what a process writes, for the error that may come.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 16 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// last is the last line that says something: launchers end with rulers and advice,
// so lines that name an error are preferred.
func (t *tail) last() (line string) {
	for l := range strings.Lines(t.String()) {
		l = strings.TrimSpace(l)
		if strings.Trim(l, "-=* ") == "" {
			continue
		}
		if named := strings.Contains(strings.ToLower(line), "error"); line == "" || !named {
			line = l
		}
	}
	const longest = 300
	if len(line) > longest {
		line = line[:longest] + "…"
	}
	return line
}
