package bench

import (
	"bytes"
	"encoding/json"
	"io"
)

// command is what the process that started the ranks has them do next. Rank 0
// reads it from its standard input, a line of JSON each, and passes it on;
// every command is answered by one reply.
type command struct {
	Do   string `json:"do"`             // one of the following
	ID   int    `json:"id"`             // the stint
	Task *task  `json:"task,omitempty"` // open
	point
}

const (
	doOpen    = "open"    // the stint ID, for Task
	doMeasure = "measure" // a slice of it
	doTails   = "tails"   // its single operations
	doClose   = "close"   // and give back what it has
	doEnd     = "end"     // all is measured
)

// maxCommand is how long a command may be as text.
const maxCommand = 1024

// reply is what rank 0 answers: one line of its standard output, after a mark
// that tells it from anything else that may be written there.
type reply struct {
	slice
	Tails *tails `json:"tails,omitempty"`
}

var mark = []byte("shmrun-bench:")

func (r reply) write(w io.Writer) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(append(append([]byte(nil), mark...), text...), '\n'))
	return err
}

// receiver is the other end: it cuts what the ranks write into lines, hands on
// the replies, and passes the rest through.
type receiver struct {
	take func(reply)
	rest io.Writer
	line []byte
}

// Write implements io.Writer.
func (r *receiver) Write(p []byte) (int, error) {
	r.line = append(r.line, p...)
	for {
		end := bytes.IndexByte(r.line, '\n')
		if end < 0 {
			return len(p), nil
		}
		line := r.line[:end+1]
		r.line = r.line[end+1:]
		if err := r.pass(line); err != nil {
			return 0, err
		}
	}
}

func (r *receiver) pass(line []byte) error {
	// The launcher may have put a rank's tag before the mark.
	at := bytes.Index(line, mark)
	var m reply
	if at < 0 || json.Unmarshal(line[at+len(mark):], &m) != nil {
		_, err := r.rest.Write(line)
		return err
	}
	r.take(m)
	return nil
}
