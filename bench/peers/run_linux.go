package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// How long a program may take that only says its version, and a compiler. Tests give
// them longer.
var (
	versionTimeout = 10 * time.Second
	buildTimeout   = time.Minute
)

// output runs a short program of the tree to its end and returns what it wrote.
func (t *tree) output(ctx context.Context, timeout time.Duration, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p, err := t.start(argv, nil, false)
	if err != nil {
		return "", err
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		return "", fmt.Errorf("%s: %w", argv[0], ctx.Err())
	}
	if p.err != nil {
		return "", fmt.Errorf("%s: %s", argv[0], p.how())
	}
	return p.errors.String(), nil
}

// talk is the lines that a process writes.
type talk struct {
	*process
	lines chan string   // closed at the end
	lost  chan struct{} // closed when a process it works with has ended; nil: not watched
}

// converse starts a program with which we talk in lines.
func (t *tree) converse(argv, env []string) (*talk, error) {
	p, err := t.start(argv, env, true)
	if err != nil {
		return nil, err
	}
	c := listen(p)
	c.lost = t.lost
	return c, nil
}

func listen(p *process) *talk {
	c := &talk{process: p, lines: make(chan string)}
	go func() {
		defer close(c.lines)
		for in := bufio.NewReader(p.stdout); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return // also of a file that was closed: the peer was
			}
			select {
			case c.lines <- line[:len(line)-1]:
			case <-p.ended:
				// Nobody may be reading any more; but what the process said last
				// may be what somebody waits for.
				select {
				case c.lines <- line[:len(line)-1]:
				case <-time.After(time.Second):
					return
				}
			}
		}
	}()
	return c
}

// errSilent is a process that did not answer in time.
var errSilent = errors.New("hung")

func silent(within time.Duration) error {
	return fmt.Errorf("%w: no answer within %v", errSilent, within)
}

// hear returns the next line that known accepts, and passes over what libraries
// have to tell. Its error is ctx's, or tells what became of the process.
func (c *talk) hear(ctx context.Context, timeout time.Duration, known func(string) bool) (string, error) {
	clock := time.NewTimer(timeout)
	defer clock.Stop()
	strange := ""
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				how := c.how()
				if strange != "" && c.errors.last() == "" {
					how += "; it said " + fmt.Sprintf("%.100q", strange)
				}
				return "", errors.New(how)
			}
			if known(line) {
				return line, nil
			}
			strange = line
		case <-c.lost:
			return "", c.bereaved()
		case <-clock.C:
			if strange != "" {
				return "", fmt.Errorf("%w: said nothing but %.100q within %v", errSilent, strange, timeout)
			}
			return "", silent(timeout)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func (c *talk) say(format string, args ...any) error {
	_, err := fmt.Fprintf(c.stdin, format+"\n", args...)
	if errors.Is(err, io.ErrClosedPipe) {
		return errors.New(c.how())
	}
	return err
}
