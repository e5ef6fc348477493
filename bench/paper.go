package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// paper is a file that is written when there is something to write. Whether it can
// be is found out before, since nobody likes to measure for minutes and then hear
// that there is no such folder. What was in it stays until it is written: nobody
// likes to lose last week's report to a mistyped flag either. And a new one is not
// there until then, whatever ends this process.
type paper struct {
	flag, name string
	file       *os.File // nil: not open
	info       fs.FileInfo
	fresh      bool // it was not there before
	begun      bool // what was in it is gone
}

// papers are those of one command, by their flags.
type papers map[string]*paper

// papers finds out whether the files that flags name can be written; on an error
// none are left that were not there before.
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
				return nil, fmt.Errorf("--%s and --%s are one file, %s; give each its own", other, flag, p.name)
			}
		}
		all[flag] = p
	}
	for _, p := range all {
		if p != nil && p.fresh { // until it is begun
			p.discard()
		}
	}
	return all, nil
}

func (all papers) write(flag string, with func(io.Writer) error) error { return all[flag].write(with) }
func (all papers) end(flag string) error                               { return all[flag].end() }

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
	return &paper{flag: flag, name: name, file: f, info: info, fresh: fresh}, nil
}

// begin makes the file or empties it, before anything is written.
func (p *paper) begin() (err error) {
	switch {
	case p.begun:
		return nil
	case p.fresh:
		p.file, err = os.OpenFile(p.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	case p.info.Mode().IsRegular():
		err = p.file.Truncate(0)
	}
	p.begun = err == nil
	return err
}

// Write implements io.Writer, for what is written while measuring goes on.
func (p *paper) Write(b []byte) (int, error) {
	if err := p.begin(); err != nil {
		return 0, err
	}
	return p.file.Write(b)
}

// write writes all of the file, once. What cannot be made costs nothing that was
// there, and of a new one that cannot be written to its end nothing is left.
func (p *paper) write(with func(io.Writer) error) error {
	if p == nil {
		return nil
	}
	var text bytes.Buffer
	err := with(&text)
	if err == nil {
		_, err = p.Write(text.Bytes())
	}
	if e := p.close(); err == nil {
		err = e
	}
	if err == nil {
		return nil
	}
	if p.fresh && p.begun {
		_ = os.Remove(p.name)
	}
	return fmt.Errorf("--%s: %w", p.flag, err)
}

// end is the end of what was written while measuring went on. Where that is nothing,
// all is as it was before.
func (p *paper) end() error {
	if p == nil {
		return nil
	}
	if p.fresh && p.begun {
		if info, err := p.file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			p.begun = false
		}
	}
	if !p.begun {
		p.discard()
		return nil
	}
	if err := p.close(); err != nil {
		return fmt.Errorf("--%s: %w", p.flag, err)
	}
	return nil
}

func (p *paper) close() error {
	if p.file == nil {
		return nil
	}
	defer func() { p.file = nil }()
	return p.file.Close()
}

// discard removes a file that was never written. One that was there before stays.
func (p *paper) discard() {
	if p == nil || p.file == nil {
		return
	}
	_ = p.close()
	if p.fresh && !p.begun {
		_ = os.Remove(p.name)
	}
}
