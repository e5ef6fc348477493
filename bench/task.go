package bench

// config is what all ranks of a measurement know from their start.
type config struct {
	Ranks  int     `json:"ranks"`
	Window int64   `json:"window"`
	CPUs   []int   `json:"cpus"` // that the job may use
	Plan   [][]int `json:"plan"` // the CPUs of each rank; nil: not bound
}

// task says what the ranks do in one row, or to find out a limit.
type task struct {
	Op      string `json:"op"`     // of ops, or one of machineTasks
	Engine  string `json:"engine"` // that carries the data; of wait and machine tasks, in which way
	Bytes   int64  `json:"bytes"`
	Touch   string `json:"touch,omitempty"`
	Dst     string `json:"dst,omitempty"`
	InPlace bool   `json:"inplace,omitempty"`
	Check   bool   `json:"check,omitempty"`
	Warmup  int    `json:"warmup,omitempty"`
	Ranks   int    `json:"ranks,omitempty"` // that take part; 0: all
	CPUs    []int  `json:"cpus,omitempty"`  // on which an exchange is played
}

// Where the data of an all-to-all arrives.
const (
	dstWindow  = "window"  // written by its senders, one copy
	dstPrivate = "private" // ordinary memory, which no peer can write to
)

// What the program itself does with the data inside the clock.
const (
	touchNone = "none" // nothing: it stays in whoever's cache it is in
	touchRead = "read" // the receiver reads every byte
	touchFull = "full" // and the sender rewrites its buffer before each operation
)

// twoCPUs are a CPU of rank 0 and another one of rank 1, if there are.
func (c *config) twoCPUs() (two []int, ok bool) {
	if c.Ranks < 2 || len(c.CPUs) == 0 {
		return nil, false
	}
	first, second := c.CPUs, c.CPUs
	if c.Plan != nil {
		first, second = c.Plan[0], c.Plan[1]
	}
	for _, cpu := range second {
		if cpu != first[0] {
			return []int{first[0], cpu}, true
		}
	}
	return nil, false
}
