package bench

import (
	"encoding/json"
	"io"
)

// jsonLines is an object a line, the first of which is {"meta": …}.
type jsonLines struct{ encoder *json.Encoder }

func newJSON(w io.Writer, m Meta) (output, error) {
	j := &jsonLines{json.NewEncoder(w)}
	j.encoder.SetEscapeHTML(false)
	return j, j.encoder.Encode(struct {
		Meta Meta `json:"meta"`
	}{m})
}

func (j *jsonLines) row(r Row) error { return j.encoder.Encode(r) }

func (j *jsonLines) tails(r Row, s tails) error {
	return j.encoder.Encode(struct {
		Tails tails `json:"tails"`
	}{s})
}

func (j *jsonLines) end() error { return nil }
