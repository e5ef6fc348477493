package bench

import (
	"fmt"
	"io"
)

// elsewhere is what people know from other suites and may type here.
var elsewhere = [][3]string{
	{"-m MIN:MAX", "-b MIN -e MAX", "-msglog MIN:MAX"},
	{"-i N", "-n ITERS → -i", "-iter N"},
	{"-x N → -w", "-w N", "-warmup → -w"},
	{"-c (validate; the default)", "-c 1 (the default)", "-check → -c on"},
	{"-f (full statistics: always)", "-f FACTOR", "-npmin → -n"},
	{"mpirun -np N", "-g, -t N → -n", "mpirun -np N"},
}

func help(w io.Writer) {
	fmt.Fprint(w, `shmrun bench measures, with ranks that it starts itself.

  shmrun bench [flags] OP [flags]

`)
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
clock; exit code 1 if any was #wrong.

`, flagSet(new(request)).FlagUsagesWrapped(86), `
Coming from           OSU                              nccl-tests                   IMB
`)
	for _, o := range ops {
		if o.osu+o.nccl+o.imb != "" {
			fmt.Fprintf(w, "  %-19s %-32s %-28s %s\n", o.name, o.osu, o.nccl, o.imb)
		}
	}
	for _, line := range elsewhere {
		fmt.Fprintf(w, "  %-19s %-32s %-28s %s\n", "", line[0], line[1], line[2])
	}
}
