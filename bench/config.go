package bench

// Config says what is measured. The process that starts the ranks makes it, and
// each rank gets it as it is.
type Config struct {
	Op     string  `json:"op"`
	Engine string  `json:"engine"`
	Ranks  int     `json:"ranks"`
	Sizes  []int64 `json:"sizes"`
	Iters  int     `json:"iters"` // a row; 0: as many as fit into autoBudget
	Dst    string  `json:"dst"`   // dstWindow or dstPrivate
	Window int64   `json:"window"`
	Shm    int64   `json:"-"`    // bytes that all windows may take together, where that is bounded; 0: not
	CPUs   []int   `json:"cpus"` // that the job may use
	Plan   [][]int `json:"plan"` // the CPUs of each rank; nil: not bound
}

// Where alltoall's data arrives.
const (
	dstWindow  = "window"  // written by its senders, one copy
	dstPrivate = "private" // ordinary memory, which no peer can write to
)

// twoCPUs are a CPU of rank 0 and another one of rank 1, if there are.
func (c *Config) twoCPUs() (two [2]int, ok bool) {
	if c.Ranks < 2 || len(c.CPUs) == 0 {
		return two, false
	}
	first, second := c.CPUs, c.CPUs
	if c.Plan != nil {
		first, second = c.Plan[0], c.Plan[1]
	}
	two[0] = first[0]
	for _, cpu := range second {
		if cpu != two[0] {
			two[1] = cpu
			return two, true
		}
	}
	return two, false
}
