package bench

import "github.com/spf13/pflag"

// Word is something that can be typed behind "shmrun bench".
type Word struct {
	Name, Text string
	around     *around // nil: an operation
}

// Takes reports whether a flag goes with the word.
func (w Word) Takes(flag string) bool { return w.around.takes(flag) }

// IsOperation reports whether the word is an operation, and no command around them.
func (w Word) IsOperation() bool { return w.around == nil }

// TakesFiles reports whether files can follow the word.
func (w Word) TakesFiles() bool { return w.around != nil && w.around.arguments != "" }

// Words lists what can stand behind "shmrun bench", for a shell's completion: the
// operations, the commands around them and the flags.
func Words() (operations []Word, flags *pflag.FlagSet) {
	for _, o := range ops {
		operations = append(operations, Word{o.name, o.text, nil})
	}
	for _, c := range arounds {
		operations = append(operations, Word{c.name, c.text, c})
	}
	return operations, flagSet(new(request))
}
