package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/symwin/symwin/internal/launch"
)

// crew is the ranks, as the process that started them sees them: it gives a
// command, all of them carry it out, and rank 0 answers. In between they sleep.
type crew struct {
	*config
	commands io.WriteCloser
	replies  chan reply
	ended    chan struct{} // all ranks have ended,
	exit     int           // the job with this code
	probe    *crewed
}

// The stints that may be open at once.
const (
	idProbe = iota
	idOurs
	idExchange
	idCopy
	stintIDs
)

// errEnded: the ranks are gone; why, they or the launcher have said.
var errEnded = errors.New("the ranks have ended")

// muster starts the ranks of j: this very program, with [RankCommand].
func muster(ctx context.Context, j *job, stderr io.Writer) (*crew, error) {
	spec, err := json.Marshal(j.config)
	if err != nil {
		return nil, err
	}
	return newCrew(&j.config, func(commands io.Reader, replies io.Writer) int {
		o := j.options
		o.Stdin, o.Stdout, o.Stderr = commands, replies, stderr
		return launch.Run(ctx, o, []string{"/proc/self/exe", RankCommand, string(spec)}).ExitCode
	}, stderr), nil
}

// newCrew is ranks that run does, with the commands as their input and their
// output into replies. What they write besides goes to rest.
func newCrew(c *config, run func(commands io.Reader, replies io.Writer) (exit int), rest io.Writer) *crew {
	in, commands := io.Pipe()
	w := &crew{config: c, commands: commands, replies: make(chan reply, 1), ended: make(chan struct{})}
	go func() {
		w.exit = run(in, &receiver{rest: rest, take: func(r reply) { w.replies <- r }})
		_ = in.CloseWithError(errEnded)
		close(w.ended)
	}()
	return w
}

// do has the ranks do c.
func (w *crew) do(ctx context.Context, c command) (reply, error) {
	text, err := json.Marshal(c)
	if err == nil {
		_, err = w.commands.Write(append(text, '\n'))
	}
	if err != nil {
		return reply{}, err
	}
	select {
	case r := <-w.replies:
		return r, nil
	case <-w.ended:
		return reply{}, errEnded
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// dismiss sends the ranks home, waits for them, and returns the job's exit code.
func (w *crew) dismiss() int {
	_ = w.commands.Close()
	<-w.ended
	return w.exit
}

// crewed is a stint of the crew: a subject.
type crewed struct {
	crew *crew
	id   int
}

func (w *crew) open(ctx context.Context, id int, t task) (*crewed, error) {
	_, err := w.do(ctx, command{Do: doOpen, ID: id, Task: &t})
	return &crewed{crew: w, id: id}, err
}

func (s *crewed) measure(ctx context.Context, p point) (slice, error) {
	r, err := s.crew.do(ctx, command{Do: doMeasure, ID: s.id, point: p})
	return r.slice, err
}

func (s *crewed) tails(ctx context.Context, p point) (*tails, error) {
	r, err := s.crew.do(ctx, command{Do: doTails, ID: s.id, point: p})
	return r.Tails, err
}

func (s *crewed) close(ctx context.Context) error {
	_, err := s.crew.do(ctx, command{Do: doClose, ID: s.id})
	return err
}
