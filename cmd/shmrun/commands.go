package main

import (
	"io"
	"slices"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/bench"
	"github.com/symwin/symwin/bench/peers"
	"github.com/symwin/symwin/internal/doctor"
)

// ownCommand is one of shmrun's own. Help, the man page and completion all come
// from these.
type ownCommand struct {
	name   string
	usage  string // what stands behind "shmrun "
	brief  string // a line; "": the command is hidden
	text   string // the rest of its help, in paragraphs
	flags  *pflag.FlagSet
	words  []bench.Word // what else can stand behind its name
	run    func(args []string, stdout, stderr io.Writer) int
	always []string // other words for it
}

// commands is the table, in the order of the help.
func commands() []ownCommand {
	operations, benchFlags := bench.Words()
	psFlags, _ := psFlags()
	doctorFlags, _ := doctorFlags()
	return []ownCommand{
		{name: "bench", usage: "bench ...", brief: `measure; "shmrun bench --help"`, flags: benchFlags, words: operations, run: benchmark},
		{name: "ps", usage: "ps [--json] [-v]", brief: "the live jobs of this user, rank by rank", text: psText, flags: psFlags, run: ps},
		{name: "doctor", usage: "doctor [--json]", brief: "what this machine gives a job, and what to change", text: doctorText, flags: doctorFlags, run: diagnose},
		{name: "clean", usage: "clean", brief: "remove what jobs left that were killed while joining", text: cleanText, run: clean},
		{name: "completion", usage: "completion SHELL", brief: "a script that completes commands and flags: bash, zsh, fish", text: completionText,
			words: []bench.Word{{Name: "bash"}, {Name: "zsh"}, {Name: "fish"}}, run: completion},
		{name: "man", usage: "man", brief: "the manual page, for man -l -", text: manText, run: man},
		{name: "help", usage: "help [COMMAND|env]", brief: "this text, a command's, or the SYMWIN_* variables", run: help, always: []string{"--help", "-h"}},
		{name: "version", usage: "version", brief: "this program's version", run: version, always: []string{"--version"}},

		{name: bench.RankCommand, run: benchRank},     // one of bench's own ranks
		{name: peers.RankCommand, run: peerRank},      // one of a peer's
		{name: doctor.ChildCommand, run: doctorChild}, // what doctor tries things on
	}
}

// is reports whether word means the command.
func (c ownCommand) is(word string) bool {
	return c.name == word || slices.Contains(c.always, word)
}

// behind lists what can stand behind the command's name.
func (c ownCommand) behind() []bench.Word {
	if c.name != "help" {
		return c.words
	}
	words := []bench.Word{{Name: "env", Text: "the SYMWIN_* variables"}}
	for _, other := range shown() {
		words = append(words, bench.Word{Name: other.name, Text: other.brief})
	}
	return words
}

// shown are the commands that people may know.
func shown() []ownCommand {
	return slices.DeleteFunc(commands(), func(c ownCommand) bool { return c.brief == "" })
}

// command answers a first word that names a command of shmrun's own, or nil. After
// any flag, after "--" or with a slash the same word is a program.
func command(word string) func(args []string, stdout, stderr io.Writer) int {
	for _, c := range commands() {
		if c.is(word) {
			return c.run
		}
	}
	return nil
}
