package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// recording is what was read of a file that --format json, or the tour, wrote.
type recording struct {
	name  string
	metas []Meta // the first is of the whole file; rows follow theirs
	rows  []Row
}

// maxLine bounds a line of such a file.
const maxLine = 16 << 20

// readBack reads a file of rows.
func readBack(name string) (*recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &recording{name: name}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for number := 1; lines.Scan(); number++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var l struct {
			Meta  *Meta            `json:"meta"`
			Tails *json.RawMessage `json:"tails"`
			Row
		}
		var wrong *json.UnmarshalTypeError
		switch err := json.Unmarshal(text, &l); {
		case errors.As(err, &wrong) && wrong.Field == "":
			return nil, fmt.Errorf("%s, line %d: no row of \"shmrun bench --format json\": it is no object but of the kind %s", name, number, wrong.Value)
		case errors.As(err, &wrong):
			return nil, fmt.Errorf("%s, line %d: no row of \"shmrun bench --format json\": %q is of the kind %s", name, number, strings.TrimPrefix(wrong.Field, "Row."), wrong.Value)
		case err != nil:
			return nil, fmt.Errorf("%s, line %d: no row of \"shmrun bench --format json\": %w", name, number, err)
		case l.Meta != nil:
			r.metas = append(r.metas, *l.Meta)
		case l.Tails != nil:
		case len(r.metas) == 0:
			return nil, fmt.Errorf("%s does not begin with {\"meta\": …}; it was not written by \"shmrun bench --format json\"", name)
		case l.Op == "" || l.Ranks == 0:
			return nil, fmt.Errorf("%s, line %d: an object, but no row of \"shmrun bench --format json\"", name, number)
		default:
			r.rows = append(r.rows, l.Row)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s: a line of more than %d bytes; it was not written by \"shmrun bench --format json\"", name, maxLine)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(r.metas) == 0:
		return nil, fmt.Errorf("%s is empty", name)
	case len(r.rows) == 0:
		return nil, fmt.Errorf("%s has no rows", name)
	}
	return r, nil
}
