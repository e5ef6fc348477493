package peers

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func init() { roles["perftest"] = perftest }

// perftest is ucx_perftest as far as its ports go. The file that $PERFTEST_LOST names
// has a line for each of the first starts that says how it loses the port.
func perftest(args []string) int {
	client := args[0] == "localhost"
	if client {
		args = args[1:]
	}
	port, batch := args[1], args[3]
	lost := os.Getenv("PERFTEST_LOST")
	if text, _ := os.ReadFile(lost); len(text) > 0 {
		first, rest, _ := strings.Cut(string(text), "\n")
		switch {
		case first == "bind" && !client:
			must(os.WriteFile(lost, []byte(rest), 0o600))
			fmt.Println("UCX ERROR server failed. bind() failed: Address already in use")
			return 255
		case first == "refused" && client:
			must(os.WriteFile(lost, []byte(rest), 0o600))
			fmt.Println("UCX ERROR client failed. connect() failed: Connection refused")
			return 255
		}
	}
	if !client {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			fmt.Println("Address already in use")
			return 255
		}
		c, err := l.Accept()
		must(err)
		must(c.Close())
		return 0
	}
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	must(err)
	defer c.Close()
	tests, err := os.Open(batch)
	must(err)
	defer tests.Close()
	for lines := bufio.NewScanner(tests); lines.Scan(); {
		fmt.Println("block,1000,0.1,1.0,1.0,1.0,1.0,1000000,1000000")
	}
	return 0
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A port that somebody else took first is a reason to take another one, some times.
func TestUCXLosesThePort(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	for name, script := range map[string]string{
		"ucx_info":     "echo '# Version 1.2.3'",
		"ucx_perftest": "PEERS_TEST_ROLE=perftest exec " + self + ` "$@"`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	lost := filepath.Join(dir, "lost")
	t.Setenv("PERFTEST_LOST", lost)

	p, err := Open(t.Context(), "ucx", Job{Op: "latency", Ranks: 2, MaxBytes: 8, Timeout: watchdog})
	require.NoError(t, err)
	defer p.Close()
	point := Point{Bytes: 8, Shortest: time.Microsecond, Budget: time.Microsecond}
	for _, ways := range []string{"", "bind\n", "refused\n", "bind\nrefused\nbind\n"} {
		require.NoError(t, os.WriteFile(lost, []byte(ways), 0o600))
		s, err := p.Measure(t.Context(), point)
		require.NoError(t, err, "%q", ways)
		require.NotEmpty(t, s.Blocks)
		require.Empty(t, marked(p.(*ucx).tree.mark), "the other side of a run that was given up is left")
	}
	require.NoError(t, os.WriteFile(lost, []byte(strings.Repeat("bind\n", 100)), 0o600))
	_, err = p.Measure(t.Context(), point)
	require.ErrorContains(t, err, "Address already in use")
}
