package main

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// words counts the words of a text in the most obvious way.
func words(text []byte) map[string]uint64 {
	m := map[string]uint64{}
	for _, w := range bytes.FieldsFunc(text, func(c rune) bool {
		return !strings.ContainsRune("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", c)
	}) {
		m[string(bytes.ToLower(w))]++
	}
	return m
}

// topOf sorts all words and takes the first.
func topOf(m map[string]uint64) top {
	all := make(top, 0, len(m))
	for w, n := range m {
		all = append(all, WordCount{w, n})
	}
	slices.SortFunc(all, func(a, b WordCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	return all[:min(len(all), topSize)]
}

func totalOf(m map[string]uint64) (total uint64) {
	for n := range maps.Values(m) {
		total += n
	}
	return total
}

// counted is what a table holds.
func counted(t *table) map[string]uint64 {
	m := map[string]uint64{}
	for e := range t.entries() {
		m[string(t.word(e))] += e.n
	}
	return m
}

// someText draws texts with words of all lengths around the borders of the
// table's entries and of the scanner's blocks, and bytes of all kinds between.
func someText() *rapid.Generator[[]byte] {
	piece := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9]{1,9}`),
		rapid.StringMatching(`[a-cA-C0-1]{1,3}`),
		rapid.StringMatching(`[a-zA-Z0-9]{14,18}`),
		rapid.StringMatching(`[aA]{60,70}`),
		rapid.StringMatching(`[ -/:-@\[-\x60{-~\n]{1,3}`),
		rapid.StringMatching(`[ ]{60,70}`),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 40), func(pieces []string) []byte {
		return []byte(strings.Join(pieces, ""))
	})
}

// withSlack copies a text to where letters and digits lie right behind it.
func withSlack(text []byte) []byte {
	b := append(bytes.Clone(text), bytes.Repeat([]byte("x7"), slack)...)
	return b[:len(text)]
}
