package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// width is where lines for people end.
const width = 96

// Write tells the findings to people: one paragraph each, the remedy behind an
// arrow, and a last line that sums up.
func Write(w io.Writer, findings []Finding) error {
	var b strings.Builder
	counts := map[Level]int{}
	for _, f := range findings {
		counts[f.Level]++
		fill(&b, fmt.Sprintf("%-8s%-11s", f.Level, f.Name), f.Text)
		if f.Remedy != "" {
			fill(&b, strings.Repeat(" ", 19)+"→ ", f.Remedy)
		}
	}
	b.WriteString("\n" + summary(counts) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func summary(counts map[Level]int) string {
	var parts []string
	for _, l := range []Level{Error, Warning, Note} {
		if n := counts[l]; n > 0 {
			parts = append(parts, count(n, string(l)))
		}
	}
	told := strings.Join(parts, ", ")
	switch {
	case counts[Error] > 0:
		return told + ": symwin cannot be used here before the errors are gone"
	case len(parts) == 0:
		return "all is well"
	}
	return told + ": symwin works here"
}

// fill writes text behind head in lines of width, broken at spaces.
func fill(b *strings.Builder, head, text string) {
	b.WriteString(head)
	indent := utf8.RuneCountInString(head)
	at := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteByte('\n')
}

// WriteJSON tells findings and facts to programs, as one object: usable,
// findings, facts.
func WriteJSON(w io.Writer, f Facts, findings []Finding) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(struct {
		Usable   bool      `json:"usable"`
		Findings []Finding `json:"findings"`
		Facts    Facts     `json:"facts"`
	}{Usable(findings), findings, f})
}
