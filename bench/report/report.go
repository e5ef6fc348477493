package report

import (
	_ "embed"
	"html/template"
	"io"
	"sync"

	"github.com/symwin/symwin/bench/chart"
)

// Report is the page.
type Report struct {
	Title    string
	Facts    []Fact   // where, when and with what
	Notes    []string // what a reader must know before any figure
	Peers    []Peer
	Sections []Section
}

// Fact is a line of the header.
type Fact struct{ Name, Text string }

// Peer is whom symwin was compared with, or why not.
type Peer struct{ Name, Version, Command, Note string }

// Section is an operation.
type Section struct {
	Name   string
	Text   string // how it was measured
	Groups []Group
}

// Group is a table of a section, and what is drawn of it.
type Group struct {
	Name     string
	Problems []string // what went wrong
	Drawings []chart.Drawing
	Table    Table
	Commands []string // that were run
}

// Table has as many cells in each row as there are columns.
type Table struct {
	Columns []string
	Rows    [][]Cell
}

// Cell is text and, where it says more than a number, how it is meant.
type Cell struct {
	Text string
	Mark Mark
}

// Mark is how a cell is meant: the page shows it by colour and weight.
type Mark string

const (
	Plain Mark = ""
	Good  Mark = "good"
	Bad   Mark = "bad"
	Dim   Mark = "dim"
)

//go:embed page.html
var source string

// page is parsed for the first report, not by everybody who links this package.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"style":  func() template.CSS { return template.CSS(chart.Style()) },
		"wide":   func(d chart.Drawing) (template.HTML, error) { return drawn(d, chart.Wide) },
		"narrow": func(d chart.Drawing) (template.HTML, error) { return drawn(d, chart.Narrow) },
	}).Parse(source))
})

// drawn is a drawing as an element of the page; package chart escapes its text.
func drawn(d chart.Drawing, width float64) (template.HTML, error) {
	text, err := chart.Inline(d, width)
	return template.HTML(text), err
}

// Write writes the page.
func (r *Report) Write(w io.Writer) error { return page().Execute(w, r) }
