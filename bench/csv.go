package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
)

// commas is a header and a line a row, with the keys of the JSON form.
type commas struct {
	w     io.Writer
	csv   *csv.Writer
	peers []string

	failed failures
}

func newCSV(w io.Writer, j *job, m Meta) (output, error) {
	if err := header(w, j, m); err != nil {
		return nil, err
	}
	c := &commas{w: w, csv: csv.NewWriter(w), peers: j.peers, failed: failures{}}
	titles := []string{"op", "engine", "ranks", "bytes", "touch", "inplace", "iters", "reps", "ops_per_block",
		"min_us", "avg_us", "p50_us", "p99_us", "max_us", "algbw_gbs", "busbw_gbs", "wrong", "limit_us", "limit", "state"}
	for _, name := range c.peers {
		titles = append(titles, name+"_p50_us", name+"_ratio")
	}
	return c, c.write(titles)
}

func (c *commas) write(cells []string) error {
	_ = c.csv.Write(cells) // Flush tells
	c.csv.Flush()
	return c.csv.Error()
}

func (c *commas) row(r Row) error {
	if err := c.failed.tell(c.w, c.peers, r); err != nil {
		return err
	}
	wrong := ""
	if r.Wrong != nil {
		wrong = strconv.Itoa(*r.Wrong)
	}
	cells := []string{r.Op, r.Engine, fmt.Sprint(r.Ranks), fmt.Sprint(r.Bytes), r.Touch, fmt.Sprint(r.InPlace),
		fmt.Sprint(r.Iters), fmt.Sprint(r.Reps), fmt.Sprint(r.OpsPerBlock),
		plain(r.Min), plain(r.Avg), plain(r.P50), plain(r.P99), plain(r.Max), plain(r.Algbw), plain(r.Busbw),
		wrong, plain(r.Limit), r.Of, r.State}
	for _, name := range c.peers {
		cells = append(cells, plain(r.peer(name).P50), plain(r.peer(name).Ratio))
	}
	return c.write(cells)
}

// plain is f as JSON has it, or nothing.
func plain(f figure) string {
	if !f.ok() {
		return ""
	}
	return strconv.FormatFloat(math.Round(float64(f)*1e4)/1e4, 'f', -1, 64)
}

func (c *commas) tails(r Row, s tails) error { return comment(c.w, "%s", s.line(r)) }

func (c *commas) end() error { return nil }
