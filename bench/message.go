package bench

import (
	"bytes"
	"encoding/json"
	"io"
)

// message is what rank 0 tells the process that started the ranks: a row, or
// how far apart the two CPUs are. It is one line of its standard output, after a
// mark that tells it from anything else that may be written there.
type message struct {
	Row       *Row       `json:"row,omitempty"`
	Placement *Placement `json:"placement,omitempty"`
}

var mark = []byte("shmrun-bench:")

func (m message) write(w io.Writer) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(append(append(append([]byte(nil), mark...), text...), '\n'))
	return err
}

// receiver is the other end: it cuts what the ranks write into lines, hands on
// the messages, and passes the rest through.
type receiver struct {
	take func(message) error
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
	var m message
	if at < 0 || json.Unmarshal(line[at+len(mark):], &m) != nil {
		_, err := r.rest.Write(line)
		return err
	}
	return r.take(m)
}
