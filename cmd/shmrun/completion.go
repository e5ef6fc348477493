package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/bench"
	"github.com/symwin/symwin/internal/launch"
)

const completionText = `SHELL is bash, zsh or fish. The script completes commands, flags and what follows
flags, and behind PROGRAM whatever the shell completes for that. To use it:

  bash   source <(shmrun completion bash)       in ~/.bashrc
  zsh    source <(shmrun completion zsh)        in ~/.zshrc, behind compinit
  fish   shmrun completion fish | source        in ~/.config/fish/config.fish
`

// completion writes the script for a shell.
func completion(args []string, stdout, stderr io.Writer) int {
	fs := flagSet("completion")
	scripts := map[string]func(io.Writer){"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	if len(args) == 1 && scripts[args[0]] != nil {
		scripts[args[0]](stdout)
		return 0
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		if scripts[args[0]] == nil {
			return complain(stderr, exitUsage, "completion: %q is none of bash, zsh, fish", args[0])
		}
		args = args[1:]
	}
	if code, done := parseOwn(fs, args, stdout, stderr); done {
		return code
	}
	return complain(stderr, exitUsage, "completion: for which shell? bash, zsh or fish; see \"shmrun completion --help\"")
}

// files are the flags that take a directory or a file.
var files = map[string]string{"output-dir": directory, "out": file, "plot": file, "report": file}

const directory, file = "<directory>", "<file>"

// narrow are the words behind bench that have but a few of its flags.
func narrow() []bench.Word {
	words, _ := bench.Words()
	return slices.DeleteFunc(words, bench.Word.IsOperation)
}

func narrowNames(sep string) string {
	var names []string
	for _, w := range narrow() {
		names = append(names, w.Name)
	}
	return strings.Join(names, sep)
}

// taken lists the flags that go with a word behind bench; the zero Word is any
// operation.
func taken(fs *pflag.FlagSet, by bench.Word) []*pflag.Flag {
	return slices.DeleteFunc(each(fs), func(f *pflag.Flag) bool { return !by.Takes(f.Name) })
}

// choices are the words that can follow the flag, where that is few, or directory
// or file, or "".
func choices(f *pflag.Flag) string {
	if v, ok := f.Value.(*launch.Value); ok && len(v.Words) > 0 {
		return strings.Join(v.Words, " ")
	}
	return files[f.Name]
}

func takesValue(f *pflag.Flag) bool { return f.NoOptDefVal == "" }

// spellings are all ways to write the flag.
func spellings(f *pflag.Flag) (all []string) {
	if f.Shorthand != "" {
		all = append(all, "-"+f.Shorthand)
	}
	if f.Name == "np" {
		all = append(all, "-np")
	}
	return append(all, "--"+f.Name)
}

// briefly is what a flag's value is called, and its usage up to the first detail
// behind three words and the value.
func briefly(f *pflag.Flag) (value, usage string) {
	value, usage = pflag.UnquoteUsage(f)
	for _, end := range []string{": ", "; ", " ("} {
		if brief, _, _ := strings.Cut(usage, end); strings.Count(brief, " ") >= 2 && strings.Contains(brief, value) {
			usage = brief
		}
	}
	return value, usage
}

func each(fs *pflag.FlagSet) (all []*pflag.Flag) {
	if fs != nil {
		fs.VisitAll(func(f *pflag.Flag) { all = append(all, f) })
	}
	return all
}

// bashScript writes functions that know nothing of bash-completion, but hand a
// program's own arguments to it where it is there.
func bashScript(w io.Writer) {
	words := func(flags []*pflag.Flag, more ...string) string {
		for _, f := range flags {
			more = append(more, spellings(f)...)
		}
		return strings.Join(append(more, "--help"), " ")
	}
	var names, commands, values strings.Builder
	for _, c := range shown() {
		names.WriteString(c.name + " ")
		var own []string
		for _, word := range c.behind() {
			own = append(own, word.Name)
		}
		if c.name == "bench" {
			fmt.Fprintf(&commands, "\tbench)\n\t\tcase $first in\n\t\t'') words=%q ;;\n", words(each(c.flags), own...))
			for _, n := range narrow() {
				fmt.Fprintf(&commands, "\t\t%s) words=%q; files=%t ;;\n", n.Name, words(taken(c.flags, n)), n.TakesFiles())
			}
			fmt.Fprintf(&commands, "\t\t*) words=%q ;;\n\t\tesac ;;\n", words(taken(c.flags, bench.Word{})))
			continue
		}
		fmt.Fprintf(&commands, "\t%s) words=%q ;;\n", c.name, words(each(c.flags), own...))
	}
	var all []*pflag.Flag
	for _, c := range append(shown(), ownCommand{flags: runFlags()}) {
		all = append(all, each(c.flags)...)
	}
	var valued []string
	for _, f := range all {
		if takesValue(f) {
			valued = append(valued, spellings(f)...)
		}
	}
	slices.Sort(valued)
	valued = slices.Compact(valued)
	known := map[string]bool{}
	for _, f := range all {
		words := choices(f)
		if words == "" || known[f.Name] {
			continue
		}
		known[f.Name] = true // bench's flags of a name are the launcher's
		reply := fmt.Sprintf(`mapfile -t COMPREPLY < <(compgen -W %q -- "$cur")`, words)
		switch words {
		case directory:
			reply = `mapfile -t COMPREPLY < <(compgen -d -- "$cur")`
		case file:
			reply = `mapfile -t COMPREPLY < <(compgen -f -- "$cur")`
		}
		fmt.Fprintf(&values, "\t%s) %s ; return ;;\n", strings.Join(spellings(f), "|"), reply)
	}
	fmt.Fprintf(w, `# bash completion for shmrun; source <(shmrun completion bash)

# The flags that take the next word.
_shmrun_valued() {
	case $1 in
	%[1]s) return 0 ;;
	esac
	return 1
}

# Moves i over flags and what follows them. Behind the cursor, that is in the value
# of flag. bash has made words of = and :.
_shmrun_flags() {
	for (( ; i < COMP_CWORD; i++)); do
		flag=${COMP_WORDS[i]}
		case $flag in
		--) i=$((i + 1)); return ;;
		-*) [[ ${COMP_WORDS[i+1]} == =* ]] || ! _shmrun_valued "$flag" || i=$((i + 1)) ;;
		*) return ;;
		esac
		while [[ ${COMP_WORDS[i+1]} == [=:]* ]]; do i=$((i + 2)); done
	done
}

_shmrun() {
	local cur=${COMP_WORDS[COMP_CWORD]} words i=1 flag
	COMPREPLY=()
	[[ $cur != [=:]* ]] || cur=
	case ${COMP_WORDS[1]} in
	%[2]s) [ "$COMP_CWORD" -eq 1 ] || { _shmrun_own; return; } ;;
	esac
	_shmrun_flags
	if [ "$i" -lt "$COMP_CWORD" ]; then # the program's
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		return
	fi
	if [ "$i" -gt "$COMP_CWORD" ]; then
		_shmrun_value
		return
	fi
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W %[3]q -- "$cur") ;;
	*)
		mapfile -t COMPREPLY < <(compgen -A command -- "$cur"; compgen -f -- "$cur")
		[ "$COMP_CWORD" -ne 1 ] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W %[4]q -- "$cur")
		;;
	esac
}

# Behind one of shmrun's own commands.
_shmrun_own() {
	local first= files=false
	for ((i = 2; ; i++)); do
		_shmrun_flags
		[ "$i" -lt "$COMP_CWORD" ] || break
		first=${first:-${COMP_WORDS[i]}}
	done
	if [ "$i" -gt "$COMP_CWORD" ]; then
		_shmrun_value
		return
	fi
	case ${COMP_WORDS[1]} in
%[5]s	esac
	if $files && [[ $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

# What can follow a flag.
_shmrun_value() {
	case $flag in
%[6]s	esac
}

complete -o filenames -o bashdefault -F _shmrun shmrun
`, strings.Join(valued, "|"), strings.ReplaceAll(strings.TrimSpace(names.String()), " ", "|"),
		words(each(runFlags())), strings.TrimSpace(names.String()), commands.String(), values.String())
}

// zshScript writes functions for zsh's own _arguments.
func zshScript(w io.Writer) {
	quote := func(text string) string {
		return strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(text)
	}
	spec := func(f *pflag.Flag) (lines string) {
		value, usage := briefly(f)
		action := ""
		if takesValue(f) {
			action = ":" + quote(value) + ": "
			switch c := choices(f); c {
			case "":
			case directory:
				action = ":" + quote(value) + ":_directories"
			case file:
				action = ":" + quote(value) + ":_files"
			default:
				action = ":" + quote(value) + ":(" + c + ")"
			}
		}
		many := ""
		if f.Name == "env" {
			many = "*"
		}
		for _, s := range spellings(f) {
			equals := ""
			if takesValue(f) && strings.HasPrefix(s, "--") {
				equals = "="
			}
			lines += fmt.Sprintf(" \\\n\t\t'%s%s%s[%s]%s'", many, s, equals, quote(usage), action)
		}
		return lines
	}
	specs := func(flags []*pflag.Flag) (lines string) {
		for _, f := range flags {
			lines += spec(f)
		}
		return lines + " \\\n\t\t'--help[tell what there is]'"
	}
	fmt.Fprint(w, `#compdef shmrun
# zsh completion for shmrun; source <(shmrun completion zsh)

_shmrun() {
	local -a own
	own=(
`)
	for _, c := range shown() {
		fmt.Fprintf(w, "\t\t'%s:%s'\n", c.name, quote(c.brief))
	}
	fmt.Fprint(w, `	)
	if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
		_describe -t commands 'shmrun command' own
		_command_names -e
		_files
		return
	fi
	case $words[2] in
`)
	for _, c := range shown() {
		line := "_arguments -S" + specs(each(c.flags))
		if words := c.behind(); len(words) > 0 {
			var all []string
			for _, word := range words {
				all = append(all, word.Name)
			}
			line += " \\\n\t\t'*:" + c.name + ":(" + strings.Join(all, " ") + ")'"
		}
		if c.name == "bench" {
			cases := ""
			for _, n := range narrow() {
				behind := ""
				if n.TakesFiles() {
					behind = " \\\n\t\t'*:file:_files'"
				}
				cases += "\t\t" + n.Name + ") _arguments -S" + specs(taken(c.flags, n)) + behind + "\n\t\t;;\n"
			}
			line = "case ${${(@)words[2,CURRENT-1]}[(r)(" + narrowNames("|") + ")]} in\n" + cases + "\t\t*) " + line + "\n\t\t;;\n\t\tesac"
		}
		fmt.Fprintf(w, "\t%s)\n\t\tshift words; (( CURRENT-- ))\n\t\t%s\n\t\t;;\n", c.name, line)
	}
	fmt.Fprintf(w, "\t*)\n\t\t_arguments -S%s \\\n\t\t'(-)1:program:_command_names -e' '*::arguments:_normal'\n\t\t;;\n\tesac\n}\n\n", specs(each(runFlags())))
	fmt.Fprint(w, "if [ \"$funcstack[1]\" = _shmrun ]; then\n\t_shmrun \"$@\"\nelse\n\tcompdef _shmrun shmrun\nfi\n")
}

// fishScript writes one line for each thing that can be typed.
func fishScript(w io.Writer) {
	quote := func(text string) string { return strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) }
	var names []string
	for _, c := range shown() {
		names = append(names, c.name)
	}
	fmt.Fprintf(w, `# fish completion for shmrun; shmrun completion fish | source

function __shmrun_own # the first word is one of shmrun's own commands
	set -l words (commandline -opc)
	test (count $words) -ge 2; and contains -- $words[2] $argv
end
complete -c shmrun -n 'not __shmrun_own %[1]s' -a '(__fish_complete_subcommand --fcs-skip=1)'
`, strings.Join(names, " "))
	flag := func(when string, f *pflag.Flag) {
		_, usage := briefly(f)
		line := "complete -c shmrun -n '" + when + "' -l " + f.Name
		if f.Shorthand != "" {
			line += " -s " + f.Shorthand
		}
		if takesValue(f) {
			line += " -r"
			switch c := choices(f); c {
			case "":
				line += " -x"
			case directory:
				line += " -a '(__fish_complete_directories)'"
			case file:
			default:
				line += " -x -a '" + c + "'"
			}
		}
		fmt.Fprintf(w, "%s -d '%s'\n", line, quote(usage))
	}
	for _, f := range each(runFlags()) {
		flag("not __shmrun_own "+strings.Join(names, " "), f)
	}
	for _, c := range shown() {
		fmt.Fprintf(w, "complete -c shmrun -n __fish_use_subcommand -a %s -d '%s'\n", c.name, quote(c.brief))
		when := "__shmrun_own " + c.name
		if c.name == "bench" {
			for _, n := range narrow() {
				in := when + "; and __fish_seen_subcommand_from " + n.Name
				if n.TakesFiles() {
					fmt.Fprintf(w, "complete -c shmrun -F -n '%s'\n", in)
				}
				for _, f := range taken(c.flags, n) {
					flag(in, f)
				}
			}
			when += "; and not __fish_seen_subcommand_from " + narrowNames(" ")
		}
		for _, word := range c.behind() {
			fmt.Fprintf(w, "complete -c shmrun -f -n '%s' -a %s -d '%s'\n", when, word.Name, quote(word.Text))
		}
		for _, f := range each(c.flags) {
			flag(when, f)
		}
	}
}
