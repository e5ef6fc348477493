package bench

// Row is one line of results. Its JSON form is one object, with these keys in
// this order.
type Row struct {
	Op     string  `json:"op"`
	Engine string  `json:"engine"` // as asked for; of limits, what was measured
	Ranks  int     `json:"ranks"`
	Bytes  int64   `json:"bytes"` // what one rank sends to one peer
	Iters  int     `json:"iters"` // operations inside the clock
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	Wrong  int     `json:"wrong"` // bytes that were not what their sender sent
}
