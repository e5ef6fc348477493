package launch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

// Flags defines the launcher's flags on fs and returns the options that parsing
// fills. Every command that starts ranks defines them through here.
func Flags(fs *pflag.FlagSet) *Options {
	o := new(Options)
	flag := func(set func(string) error, name, short, usage string) {
		fs.VarP(&Value{Read: set}, name, short, usage)
	}
	oneOf := func(words []string, set func(string) error, name, usage string) {
		fs.Var(&Value{Read: set, Words: words}, name, usage)
	}
	flag(func(s string) (err error) { o.N, err = ranks(s); return },
		"np", "n", "`N` ranks, 1 to 1024; also -np (default: the CPUs this process may use)")
	oneOf(topo.Policies(), func(s string) (err error) { o.BindTo, err = topo.ParsePolicy(s); return },
		"bind-to", "`WHAT` each rank is bound to before it starts: share (default; the usable CPUs divided evenly, whole cores, "+
			"inside a NUMA node where it fits; nothing if there are more ranks than CPUs), core, numa, none")
	flag(func(s string) (err error) { o.Window, err = window(s); return },
		"window", "", "`SIZE` of a rank's window: address space, not memory (default 1G)")
	oneOf(symmem.Backings(), func(s string) (err error) { o.Backing, err = symmem.ParseBacking(s); return },
		"backing", "`KIND` of memory: shm (/dev/shm), memfd (where /dev/shm is small), auto (default)")
	flag(func(s string) error {
		if name, _, ok := strings.Cut(s, "="); !ok || name == "" {
			return fmt.Errorf("%q is no NAME=VALUE", s)
		}
		o.Env = append(o.Env, s)
		return nil
	}, "env", "x", "`NAME=VALUE` set for the ranks; may be repeated")
	flag(func(s string) (err error) { o.Timeout, err = env.ParseDuration(s); return },
		"timeout", "", "`TIME` for the whole job; then SIGQUIT (Go prints its stacks), SIGTERM, SIGKILL, exit 124 (default: none)")
	flag(func(s string) (err error) { o.StallReport, err = orNone(s); return },
		"stall-report", "", "`TIME` after which a wait tells which ranks are late and what they do; 0: never (default 10s)")
	flag(func(s string) (err error) { o.Stall, err = orNone(s); return },
		"stall", "", "`TIME` after which a wait fails; 0: never (default 10m)")
	fs.BoolVar(&o.TagOutput, "tag-output", false, "write whole lines only, each with its \"[rank] \"")
	fs.BoolVar(&o.ReportBindings, "report-bindings", false, "tell which CPUs each rank got")
	fs.BoolVarP(&o.Verbose, "verbose", "v", false, "tell what is started and how each rank ended")
	return o
}

// OutputFlags defines the flags that say where and how the ranks' output is
// written. They are for commands that leave the output to their user.
func OutputFlags(fs *pflag.FlagSet, o *Options) {
	fs.BoolVar(&o.TimestampOutput, "timestamp-output", false, "write whole lines only, each with the seconds since the start at which it was read, and its \"[rank] \"")
	fs.Var(&Value{Read: func(s string) error {
		if o.OutputDir = s; s == "" {
			return errors.New("\"\" is no directory")
		}
		return nil
	}}, "output-dir", "`DIR`, made if need be, for the ranks' output: files rank-00.out and rank-00.err for each rank, written anew")
}

// Parse parses args with fs, which has the launcher's flags among others. It
// takes -np as mpirun does. Where interspersed is false the flags end at the
// first word that is none: what follows is a program's.
func Parse(fs *pflag.FlagSet, args []string, interspersed bool) error {
	fs.SetInterspersed(interspersed)
	err := fs.Parse(expandNP(fs, args, interspersed))
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	f := bad.GetFlag()
	if _, ours := f.Value.(*Value); !ours {
		return err
	}
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand
	}
	return fmt.Errorf("%s %s", name, plain(errors.Unwrap(bad)))
}

// plain is an error's text without its class, which is for programs.
func plain(err error) string {
	text := err.Error()
	for _, class := range []error{env.ErrSyntax, symmem.ErrUsage} {
		text = strings.TrimPrefix(text, class.Error()+": ")
	}
	return text
}

// expandNP writes -np as --np, which pflag would read as -n with the value "p".
func expandNP(fs *pflag.FlagSet, args []string, interspersed bool) []string {
	out := append([]string(nil), args...)
	for i := 0; i < len(out); i++ {
		arg := out[i]
		if arg == "-np" || strings.HasPrefix(arg, "-np=") {
			arg = "-" + arg
			out[i] = arg
		}
		if arg == "--" || !interspersed && (arg == "-" || !strings.HasPrefix(arg, "-")) {
			break
		}
		if takesNext(fs, arg) {
			i++
		}
	}
	return out
}

// takesNext reports whether arg is a flag whose value is the next argument.
func takesNext(fs *pflag.FlagSet, arg string) bool {
	if name, long := strings.CutPrefix(arg, "--"); long {
		f := fs.Lookup(name) // with "=value" it is no name
		return f != nil && f.NoOptDefVal == ""
	}
	shorts, isFlag := strings.CutPrefix(arg, "-")
	for i := 0; isFlag && i < len(shorts); i++ {
		f := fs.ShorthandLookup(shorts[i : i+1])
		if f == nil {
			return false
		}
		if f.NoOptDefVal == "" {
			return i == len(shorts)-1
		}
	}
	return false
}

// Value is a flag whose meaning is a function; its default stands in the usage.
type Value struct {
	Read  func(string) error // takes the text, and says by itself what is wrong with it
	Words []string           // what the text can be, where that is few words
	text  string
}

// Set is for pflag, as are the other methods: it takes what stands behind the flag.
func (v *Value) Set(s string) error { v.text = s; return v.Read(s) }

// String is what stood behind the flag, "" where it was not given.
func (v *Value) String() string { return v.text }

// Type is empty: the usage names the value.
func (v *Value) Type() string { return "" }

func ranks(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxRanks {
		return 0, fmt.Errorf("%q: a job has 1 to %d ranks", text, MaxRanks)
	}
	return n, nil
}

// window reads a window's size. Zero would be the default, and nobody means that
// by it.
func window(text string) (int64, error) {
	size, err := env.Size(text)
	if err == nil && size == 0 {
		err = fmt.Errorf("%q: a window has at least %s", text, env.FormatSize(symmem.MinWindow))
	}
	return size, err
}

// orNone reads a duration whose zero means none, which [Options] write as
// negative.
func orNone(text string) (time.Duration, error) {
	d, err := env.ParseDuration(text)
	if err == nil && d == 0 {
		d = -1
	}
	return d, err
}
