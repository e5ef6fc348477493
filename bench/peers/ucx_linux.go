package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ucx is ucx_perftest, a server and a client that are started for each slice and
// end with it. They run a batch: the same test many times over, of which each is
// one block.
type ucx struct {
	job     Job
	test    string
	version string
	tree    *tree
	command string
	broken  error
	// each is how long one operation took at a size, from what was measured before.
	each map[int64]time.Duration
}

// ucxTests names ucx_perftest's tests. Its bw is of puts, which is its fastest.
var ucxTests = map[string]string{"latency": "tag_lat", "put": "ucp_put_lat", "bw": "ucp_put_bw"}

// ucxTransports are those over shared memory; others would only be tried.
const ucxTransports = "UCX_TLS=posix,self"

func openUCX(ctx context.Context, j Job) (Peer, error) {
	test, exists := ucxTests[j.Op]
	switch {
	case !exists:
		return nil, cannot("ucx_perftest has no %s", j.Op)
	case j.Ranks != 2:
		return nil, cannot("ucx_perftest has 2 ranks, not %d", j.Ranks)
	case j.Touch != "none":
		return nil, cannot("ucx_perftest does not touch what it sends")
	}
	if err := j.fits(2, 0); err != nil {
		return nil, err
	}
	for _, program := range []string{"ucx_perftest", "ucx_info"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, &MissingError{Peer: "ucx", Package: "ucx-utils"}
		}
	}
	tree, err := newTree()
	if err != nil {
		return nil, err
	}
	p := &ucx{job: j, test: test, tree: tree, each: map[int64]time.Duration{}}
	text, err := tree.output(ctx, versionTimeout, []string{"ucx_info", "-v"})
	if err == nil {
		if found := regexp.MustCompile(`ersion[ =](\d\S*)`).FindStringSubmatch(text); found != nil {
			p.version = "UCX " + found[1] + ", compares no data"
		} else {
			err = fmt.Errorf("ucx_info -v said %.100q", text)
		}
	}
	if err != nil {
		return nil, failed("ucx", errors.Join(err, tree.fell()))
	}
	p.command = strings.Join(p.argv("PORT", "FILE", 0), " ") + " & " + strings.Join(p.argv("PORT", "FILE", 1), " ") +
		" (FILE: lines \"block " + strings.Join(p.line("BYTES", "N", "N/10"), " ") + "\")"
	return p, nil
}

// argv is a side's command line.
func (p *ucx) argv(port, batch string, side int) []string {
	a := []string{ucxTransports, "ucx_perftest"}
	if side == 1 {
		a = append(a, "localhost")
	}
	a = append(a, "-p", port, "-b", batch, "-f", "-v")
	if p.job.Plan != nil {
		var list []string
		for _, cpu := range p.job.Plan[side] {
			list = append(list, strconv.Itoa(cpu))
		}
		a = append(a, "-c", strings.Join(list, ","))
	}
	return a
}

// line is one test's.
func (p *ucx) line(bytes, n, warm string) []string {
	return []string{"-t", p.test, "-s", bytes, "-n", n, "-w", warm}
}

// The most that the tests of one run take, and how many there are: each costs a
// tenth of a second of its own, in which its two sides agree over TCP.
const (
	ucxLongest = 500 * time.Millisecond
	ucxBlocks  = 4
)

// Measure implements Peer.
func (p *ucx) Measure(ctx context.Context, point Point) (Slice, error) {
	switch {
	case p.broken != nil:
		return Slice{}, p.broken
	case point.Bytes > p.job.MaxBytes:
		return Slice{}, cannot("%d bytes were not announced", point.Bytes)
	case point.Bytes == 0:
		return Slice{}, cannot("ucx_perftest sends at least a byte")
	}
	limit := p.job.timeout(point)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, silent(limit))
	defer cancel()
	s, err := p.measure(ctx, point)
	if err != nil {
		if late := context.Cause(ctx); errors.Is(late, errSilent) {
			err = late
		}
		p.broken = failed("ucx", errors.Join(err, p.tree.fell()))
		return Slice{}, p.broken
	}
	return s, nil
}

func (p *ucx) measure(ctx context.Context, point Point) (Slice, error) {
	// What a first guess rests on is not a figure yet.
	if p.each[point.Bytes] == 0 {
		if _, err := p.run(ctx, point.Bytes, 1, 200); err != nil {
			return Slice{}, err
		}
	}
	each := p.each[point.Bytes]
	budget := min(max(point.Budget, point.Shortest), ucxLongest)
	block := max(point.Shortest, budget/ucxBlocks)
	n := int(math.Ceil(1.25 * float64(block) / float64(each)))
	blocks := max(1, min(int(budget/block), ucxBlocks))
	if iters := point.Iters * p.counts(); iters > 0 {
		n = max(int(math.Ceil(float64(point.Shortest)/float64(each))), (iters+ucxBlocks-1)/ucxBlocks)
		blocks = (iters + n - 1) / n
	}
	return p.run(ctx, point.Bytes, blocks, n)
}

// counts is how many of ucx_perftest's operations are one of [Point]'s.
func (p *ucx) counts() int {
	if p.job.Op == "bw" {
		return inFlight
	}
	return 1
}

// errPort is that somebody else took the port before the server did.
var errPort = errors.New("lost the port")

// ucxTries is how often a run is started until it has a port.
const ucxTries = 5

// run does one run of blocks tests of n operations.
func (p *ucx) run(ctx context.Context, bytes int64, blocks, n int) (s Slice, err error) {
	for range ucxTries {
		if s, err = p.runOnce(ctx, bytes, blocks, n); !errors.Is(err, errPort) {
			break
		}
	}
	return s, err
}

func (p *ucx) runOnce(ctx context.Context, bytes int64, blocks, n int) (s Slice, err error) {
	warm := max(n/10, p.job.Warmup*p.counts(), 10)
	line := "block " + strings.Join(p.line(strconv.FormatInt(bytes, 10), strconv.Itoa(n), strconv.Itoa(warm)), " ") + "\n"
	batch := filepath.Join(p.tree.temp, "batch")
	if err := os.WriteFile(batch, []byte(strings.Repeat(line, blocks)), 0o600); err != nil {
		return s, err
	}
	port, err := freePort()
	if err != nil {
		return s, err
	}
	start := func(side int) (*process, error) {
		argv := p.argv(strconv.Itoa(port), batch, side)
		return p.tree.start(argv[1:], []string{argv[0], "UCX_POSIX_DIR=" + p.tree.memory}, false)
	}
	server, err := start(0)
	if err != nil {
		return s, err
	}
	if err := awaitListener(ctx, port, server); err != nil {
		return s, err
	}
	client, err := start(1)
	if err != nil {
		return s, err
	}
	first, second := client, server
	select {
	case <-client.ended:
	case <-server.ended: // perhaps at once, and the client talks to somebody else
		first, second = server, client
	case <-ctx.Done():
		return s, ctx.Err()
	}
	if first.err != nil {
		_ = second.cmd.Process.Kill()
		<-second.ended
		return s, sideEnded(first)
	}
	select {
	case <-second.ended:
		if second.err != nil {
			return s, sideEnded(second)
		}
	case <-ctx.Done():
		return s, ctx.Err()
	}
	s.Ops = n
	if s.Blocks, err = parseUCX(client.errors.String(), n); err != nil {
		return s, err
	}
	if len(s.Blocks) != blocks {
		return s, fmt.Errorf("%d of %d tests were reported", len(s.Blocks), blocks)
	}
	p.each[bytes] = max(s.Blocks[len(s.Blocks)/2]/time.Duration(n), 1)
	return s, nil
}

// sideEnded tells how a side ended that should not have.
func sideEnded(side *process) error {
	how := side.how()
	for _, lost := range []string{"Address already in use", "Connection refused"} {
		if strings.Contains(side.errors.String(), lost) {
			return fmt.Errorf("%w: %s", errPort, how)
		}
	}
	return errors.New(how)
}

// parseUCX reads the table that -f -v makes:
//
//	batch,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
//	block,20000,0.120,0.231,0.231,33.00,33.00,4325251,4325251
//
// of which the last is operations in a second and more exact than microseconds
// with three decimals, where there are many.
func parseUCX(text string, n int) (blocks []time.Duration, err error) {
	for line := range strings.Lines(text) {
		rest, ours := strings.CutPrefix(strings.TrimSpace(line), "block,")
		if !ours {
			continue
		}
		fields := strings.Split(rest, ",")
		if len(fields) != 8 {
			return nil, fmt.Errorf("it said %.100q", line)
		}
		latency, e1 := strconv.ParseFloat(fields[3], 64)
		rate, e2 := strconv.ParseFloat(fields[7], 64)
		seconds := latency / 1e6
		if rate > 10_000 {
			seconds = 1 / rate
		}
		if e1 != nil || e2 != nil || seconds <= 0 {
			return nil, fmt.Errorf("it said %.100q", line)
		}
		blocks = append(blocks, time.Duration(seconds*float64(n)*1e9))
	}
	return blocks, nil
}

// freePort is a port that nobody uses now. The socket that finds it does not listen:
// a process that another goroutine forks meanwhile has it until it becomes a
// program, and would be taken for the server.
func freePort() (port int, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	// Nor does it keep the server from binding.
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	return at.(*unix.SockaddrInet4).Port, nil
}

// awaitListener returns when somebody listens on a port. It does not connect: the
// server would take that for its client.
func awaitListener(ctx context.Context, port int, server *process) error {
	for {
		listens, err := listening(port)
		if err != nil || listens {
			return err
		}
		select {
		case <-server.ended:
			return sideEnded(server)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Microsecond):
		}
	}
}

func listening(port int) (bool, error) {
	const listen = "0A"
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 3 && fields[3] == listen && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
				return true, nil
			}
		}
	}
	return false, nil
}

func (p *ucx) Name() string    { return "ucx" }
func (p *ucx) Version() string { return p.version }
func (p *ucx) Command() string { return p.command }

// Close implements Peer.
func (p *ucx) Close() error {
	if p.broken == nil {
		p.broken = &FailedError{Peer: "ucx", What: "closed"}
	}
	return p.tree.fell()
}
