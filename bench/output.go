package bench

import "io"

// output writes rows as they come, in one of the formats.
type output interface {
	row(Row) error
	tails(Row, tails) error
	end() error
}

// formats are what --format may name.
var formats = []string{"table", "json", "csv", "gobench"}

// newOutput begins an output of j's rows: its header is written.
func newOutput(w io.Writer, j *job, m Meta) (output, error) {
	switch j.format {
	case "json":
		return newJSON(w, m)
	case "csv":
		return newCSV(w, j, m)
	case "gobench":
		return newGobench(w, j, m)
	}
	return newTable(w, j, m)
}
