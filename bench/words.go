package bench

import "github.com/spf13/pflag"

// Word is something that can be typed behind "shmrun bench".
type Word struct{ Name, Text string }

// Words lists what can stand behind "shmrun bench", for a shell's completion: the
// operations, the commands around them and the flags.
func Words() (operations []Word, flags *pflag.FlagSet) {
	for _, o := range ops {
		operations = append(operations, Word{o.name, o.text})
	}
	for _, c := range arounds {
		operations = append(operations, Word{c.name, c.text})
	}
	return operations, flagSet(new(request))
}
