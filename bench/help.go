package bench

import (
	"fmt"
	"io"
	"strings"
)

// elsewhere is what people know from other suites and may type here.
var elsewhere = [][3]string{
	{"-m MIN:MAX", "-b MIN -e MAX", "-msglog LOG2:LOG2 → -m"},
	{"-i N", "-n N → -i", "-iter N → -i"},
	{"-x N → -w", "-w N", ""},
	{"-c → always", "-c 1 → always", ""},
	{"-f → always", "-f FACTOR", ""},
	{"mpirun -np N → -np N", "-g N, -t N → -n", "mpirun -np N → -np N"},
}

func help(w io.Writer) {
	fmt.Fprint(w, `shmrun bench measures, with ranks that it starts itself.

  shmrun bench [flags] OP [flags]
`)
	for _, c := range arounds {
		fmt.Fprintf(w, "  %-38s %s\n", strings.TrimSpace("shmrun bench "+c.name+" "+c.arguments), c.text)
	}
	fmt.Fprintln(w)
	for _, o := range ops {
		fmt.Fprintf(w, "  %-17s %s\n", o.name, o.text)
	}
	fmt.Fprint(w, `
A row is one size. BYTES is what one rank sends to one peer. Times are in µs an
operation (of a round trip: half of it): operations run back to back in blocks
of at least 20 µs (2 ms where ranks share CPUs), each as long as on its slowest
rank; min to max are over blocks. "of limit" is p50 by what the machine allows:
an exchange of one line each way (two16), or, where ranks share CPUs, a hand-off
(yield) for each that shares one, and plain copies of all bytes that must move.
"state" is half a round trip of two16, looked at before and after each part of a
row: figures of different states do not compare. A peer's × is its p50 by ours.
Data changes from round to round and is compared byte for byte, outside the
clock; exit code 1 if any was #wrong ("-": nothing is compared). A peer whose
bytes are wrong is out, its column says so, and the exit code does not.

`, flagSet(new(request)).FlagUsagesWrapped(86), `
Coming from           OSU                              nccl-tests                   IMB
`)
	row := func(ours, osu, nccl, imb string) {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %-19s %-32s %-28s %s", ours, osu, nccl, imb), " "))
	}
	for _, o := range ops {
		if o.osu+o.nccl+o.imb != "" {
			row(o.name, o.osu, o.nccl, o.imb)
		}
	}
	for _, there := range elsewhere {
		row("", there[0], there[1], there[2])
	}
}
