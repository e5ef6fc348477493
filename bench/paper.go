package bench

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// paper is a file that is written when all has been measured. It is opened
// before, since nobody likes to measure for minutes and then hear that there is no
// such folder. What was in it stays until it is written: nobody likes to lose last
// week's report to a mistyped flag either.
type paper struct {
	flag  string
	file  *os.File
	info  fs.FileInfo
	fresh bool // it was not there before
	begun bool // what was in it is gone
}

// papers are those of one command, by their flags.
type papers map[string]*paper

// papers opens the files that flags name; on an error none are left that were not
// there before.
func (q *request) papers(flags ...string) (papers, error) {
	all := papers{}
	for _, flag := range flags {
		p, err := newPaper(flag, map[string]string{"out": q.file, "plot": q.plot, "report": q.report}[flag])
		if err != nil {
			all.discard()
			return nil, err
		}
		for other, o := range all {
			if p != nil && o != nil && p.info.Mode().IsRegular() && os.SameFile(p.info, o.info) {
				all.discard()
				return nil, fmt.Errorf("--%s and --%s are one file, %s; give each its own", other, flag, p.file.Name())
			}
		}
		all[flag] = p
	}
	return all, nil
}

func (all papers) write(flag string, with func(io.Writer) error) error { return all[flag].write(with) }

func (all papers) discard() {
	for _, p := range all {
		p.discard()
	}
}

// newPaper opens the file that a flag names; nil if it names none.
func newPaper(flag, name string) (*paper, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	fresh := err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--%s: %w", flag, err), f.Close())
	}
	return &paper{flag: flag, file: f, info: info, fresh: fresh}, nil
}

// begin empties the file, before anything is written.
func (p *paper) begin() error {
	if p.begun || !p.info.Mode().IsRegular() {
		return nil
	}
	p.begun = true
	return p.file.Truncate(0)
}

// Write implements io.Writer, for what is written while measuring goes on.
func (p *paper) Write(b []byte) (int, error) {
	if err := p.begin(); err != nil {
		return 0, err
	}
	return p.file.Write(b)
}

// write writes the file, once.
func (p *paper) write(with func(io.Writer) error) error {
	if p == nil || p.file == nil {
		return nil
	}
	err := p.begin()
	if err == nil {
		err = with(p.file)
	}
	if e := p.file.Close(); err == nil {
		err = e
	}
	p.file = nil
	if err != nil {
		return fmt.Errorf("--%s: %w", p.flag, err)
	}
	return nil
}

// discard removes a file that was never written. One that was there before stays.
func (p *paper) discard() {
	if p == nil || p.file == nil {
		return
	}
	_ = p.file.Close()
	if p.fresh {
		_ = os.Remove(p.file.Name())
	}
	p.file = nil
}
