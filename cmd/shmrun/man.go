package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/internal/env"
)

const manText = `The page is made of the same text as --help. To read it, and to keep it:

  shmrun man | man -l -
  shmrun man > /usr/local/share/man/man1/shmrun.1
`

// man writes the manual page, in the macros of man(7).
func man(args []string, stdout, stderr io.Writer) int {
	if code, done := parseOwn(flagSet("man"), args, stdout, stderr); done {
		return code
	}
	p := &page{w: new(bytes.Buffer)}
	p.macro("TH", "SHMRUN", "1", "", "symwin "+moduleVersion(), "symwin")
	p.macro("SH", "NAME")
	p.line(roff("shmrun - run a program as ranks that share one region of memory"))
	p.macro("SH", "SYNOPSIS")
	p.block(usages())
	p.macro("SH", "DESCRIPTION")
	p.text(about + "\n" + firstWord)
	p.macro("SH", "OPTIONS")
	p.flags(runFlags())
	body, exit, _ := strings.Cut(rest, "Exit code:")
	exit, after, _ := strings.Cut(exit, "\n\n")
	p.text("\n" + body + after)
	p.macro("SH", "COMMANDS")
	for _, c := range shown() {
		if c.text == "" && c.name != "bench" {
			continue
		}
		p.macro("SS", "shmrun "+c.usage)
		if c.name == "bench" {
			var out bytes.Buffer
			benchmark([]string{"--help"}, &out, io.Discard)
			p.block(out.String())
			continue
		}
		brief := strings.ToUpper(c.brief[:1]) + c.brief[1:] + ".\n"
		p.text(brief + "\n" + c.text)
		if c.flags != nil {
			p.flags(c.flags)
		}
	}
	p.macro("SH", "EXIT STATUS")
	p.text(strings.TrimSpace(exit))
	p.macro("SH", "ENVIRONMENT")
	for _, v := range env.Table {
		p.macro("TP")
		p.line(`\fB` + roff(v.Name) + `\fR` + roff(strings.TrimPrefix(withDefault(v), v.Name)))
		p.line(roff(v.Text))
	}
	if _, err := stdout.Write(p.w.Bytes()); err != nil {
		return complain(stderr, exitFailed, "man: %v", err)
	}
	return 0
}

// page is a manual page in the making.
type page struct{ w *bytes.Buffer }

// macro writes a request; its arguments are quoted.
func (p *page) macro(name string, args ...string) {
	fmt.Fprintf(p.w, ".%s", name)
	for _, a := range args {
		fmt.Fprintf(p.w, ` "%s"`, strings.ReplaceAll(roff(a), `"`, `\(dq`))
	}
	p.w.WriteByte('\n')
}

// line writes text that is roff already; never as a request.
func (p *page) line(text string) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	p.w.WriteString(text + "\n")
}

// text writes paragraphs, which empty lines part. One that is indented stays as
// it is.
func (p *page) text(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 || strings.HasPrefix(text, "\n") {
			p.macro("PP")
		}
		if strings.HasPrefix(paragraph, " ") {
			p.block(paragraph)
			continue
		}
		for l := range strings.Lines(paragraph) {
			p.line(roff(strings.TrimSpace(l)))
		}
	}
}

// block writes lines that stay as they are.
func (p *page) block(text string) {
	p.macro("nf")
	for l := range strings.Lines(strings.Trim(text, "\n")) {
		p.line(roff(strings.TrimRight(l, "\n")))
	}
	p.macro("fi")
}

func (p *page) flags(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		if value != "" {
			name += ` \fI` + roff(value) + `\fR`
		}
		p.macro("TP")
		p.line(name)
		p.line(roff(usage))
	})
}

// roff escapes what would mean something else to the formatter.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}
