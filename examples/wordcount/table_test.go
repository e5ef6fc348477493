package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// aWord draws words that collide in their first, last and all letters but one.
func aWord() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-c0]{1,3}`),
		rapid.Map(rapid.IntRange(1, 40), func(n int) string { return strings.Repeat("a", n) }),
		rapid.Map(rapid.IntRange(0, 39), func(n int) string { return strings.Repeat("a", n) + "b" + strings.Repeat("a", 39-n) }),
		rapid.StringMatching(`[a-z0-9]{7,9}`),
		rapid.StringMatching(`[a-z0-9]{15,18}`),
	)
}

func TestTableCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, want := newTable(), map[string]uint64{}
		for _, w := range rapid.SliceOf(aWord()).Draw(t, "words") {
			n := rapid.Uint64Range(1, 1<<40).Draw(t, "n")
			want[w] += n
			table.addWord([]byte(w), n)
			if rapid.Bool().Draw(t, "reserve") {
				table.reserve(rapid.IntRange(0, 1<<13).Draw(t, "room"))
			}
		}
		require.Equal(t, want, counted(table))
		require.Equal(t, len(want), table.used)
	})
}

// Two long words with one hash, which the table must tell apart by their letters.
func TestLongWordsThatCollide(t *testing.T) {
	table := newTable()
	word := []byte("alongerword0123456789")
	table.addWord(word, 1)
	table.arena = bytes.Replace(table.arena, []byte("long"), []byte("last"), 1)
	table.addWord(word, 2)
	require.Equal(t, map[string]uint64{"alongerword0123456789": 2, "alasterword0123456789": 1}, counted(table))
}

func TestTableGrows(t *testing.T) {
	table, n := newTable(), 200_000
	for i := range n {
		table.addWord([]byte(fmt.Sprint("w", i)), uint64(i)+1)
		table.addWord([]byte(fmt.Sprint("alongerword0123456789x", i)), uint64(i)+1)
	}
	got := counted(table)
	require.Len(t, got, 2*n)
	for i := range n {
		require.EqualValues(t, i+1, got[fmt.Sprint("w", i)])
		require.EqualValues(t, i+1, got[fmt.Sprint("alongerword0123456789x", i)])
	}
}

func TestOwnersShareTheWordsEqually(t *testing.T) {
	table, words := newTable(), 100_000
	for i := range words / 2 {
		table.addWord([]byte(fmt.Sprint(i)), 1)
		table.addWord([]byte(fmt.Sprint("internalcompilererror", i)), 1)
	}
	for _, ranks := range []int{1, 2, 3, 8, 100} {
		owns := make([]int, ranks)
		for e := range table.entries() {
			owns[e.owner(ranks)]++
		}
		require.InDelta(t, words/ranks, slices.Min(owns), float64(words/ranks)/5)
		require.InDelta(t, words/ranks, slices.Max(owns), float64(words/ranks)/5)
	}
}

// A table that reads what another has written finds almost every word at home:
// they do not crowd although they come in the order of their hash.
func TestWordsTravelInOrder(t *testing.T) {
	from, to := newTable(), newTable()
	for i := range 50_000 {
		from.addWord([]byte(fmt.Sprint(i)), 1)
	}
	out := newOutboxes(1, from.used)
	for e := range from.entries() {
		out[0].put(from, e)
	}
	require.NoError(t, takeWords(out[0].sealed(), to.reserve, to.addWord))
	require.Equal(t, counted(from), counted(to))

	var away int
	for i := range to.slots {
		if e := &to.slots[i]; e.n != 0 {
			away += i - int(e.hash()>>to.shift)
		}
	}
	require.Less(t, away, 5*to.used)
}

func TestStreamsCarryEveryWordAndMayNotBeCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := newTable(), newTable()
		for _, w := range rapid.SliceOf(aWord()).Draw(t, "words") {
			from.addWord([]byte(w), rapid.Uint64Range(1, 1000).Draw(t, "n"))
		}
		out := newOutboxes(1, 0)
		for e := range from.entries() {
			out[0].put(from, e)
		}
		s := bytes.Clone(out[0].sealed())
		require.NoError(t, takeWords(s, to.reserve, to.addWord))
		cut := rapid.IntRange(0, len(s)-1).Draw(t, "cut")
		require.ErrorIs(t, takeWords(s[:cut], func(int) {}, func([]byte, uint64) {}), errStream)
		clear(s)
		require.Equal(t, counted(from), counted(to))
	})
}

func TestDamagedStreamsAreRefused(t *testing.T) {
	for _, s := range []string{
		"\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01a",                                         // a word too many
		"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01a",                                         // never found
		"\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00a",                                         // no letters
		"\x01\x00\x00\x00\x00\x00\x00\x00\x01\x02a",                                         // a letter too few
		"\x01\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("\xff", 10) + "\x01",            // no number
		"\x01\x00\x00\x00\x00\x00\x00\x00\x01" + strings.Repeat("\xff", 9) + "\x01" + "abc", // a length like no other
	} {
		require.ErrorIs(t, takeWords([]byte(s), newTable().reserve, newTable().addWord), errStream, "%q", s)
	}
}

// What a rank says that it sends is no reason to make room for more words than
// there are bytes for.
func TestNoRoomIsMadeForMoreWordsThanCameWithBytes(t *testing.T) {
	for _, said := range []uint64{4, 1 << 20, 1 << 40, 1<<64 - 1} {
		stream := append(binary.LittleEndian.AppendUint64(nil, said), "\x01\x01a\x01\x01b\x01\x01c"...)
		err := takeWords(stream, func(words int) { require.Fail(t, "room", "for %d words", words) }, func([]byte, uint64) {})
		require.ErrorIs(t, err, errStream)
	}
}
