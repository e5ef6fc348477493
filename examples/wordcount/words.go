package main

import (
	"context"
	"encoding/binary"
	"errors"
)

// Words travel as a stream: how many there are in 8 bytes, then for each its
// count, its length and its letters. The exchange may cut it anywhere.

// outbox is a stream of words for one rank.
type outbox struct {
	stream []byte
	words  uint64
}

// newOutboxes makes a stream for each of n ranks, with room for its part of so
// many words.
func newOutboxes(n, words int) []outbox {
	out := make([]outbox, n)
	for r := range out {
		out[r].stream = make([]byte, 8, 8+20*(words/n+1))
	}
	return out
}

func (o *outbox) put(t *table, e *entry) {
	w := t.word(e)
	o.stream = binary.AppendUvarint(o.stream, e.n)
	o.stream = binary.AppendUvarint(o.stream, uint64(len(w)))
	if len(w) <= short { // cheaper than a copy whose length cannot be foreseen
		o.stream = append(o.stream, w[:short]...)[:len(o.stream)+len(w)]
	} else {
		o.stream = append(o.stream, w...)
	}
	o.words++
}

// sealed is the stream with its first 8 bytes.
func (o *outbox) sealed() []byte {
	binary.LittleEndian.PutUint64(o.stream, o.words)
	return o.stream
}

var errStream = errors.New("the words from another rank are not what they should be")

// leastWord is the shortest that a word is in a stream: a count, a length, a letter.
const leastWord = 3

// takeWords hands on the words of a stream. Before the first it tells how many
// there will be, which it believes only if there are bytes for so many: room is
// made for them. Neither may keep the bytes.
func takeWords(stream []byte, expect func(words int), word func(w []byte, n uint64)) error {
	if len(stream) < 8 {
		return errStream
	}
	words, rest := binary.LittleEndian.Uint64(stream), stream[8:]
	if words > uint64(len(rest)/leastWord) {
		return errStream
	}
	expect(int(words))
	for ; words > 0; words-- {
		n, a := binary.Uvarint(rest)
		size, b := binary.Uvarint(rest[max(a, 0):])
		if a <= 0 || b <= 0 || n == 0 || size == 0 || size > uint64(len(rest)-a-b) {
			return errStream
		}
		word(rest[a+b:][:size], n)
		rest = rest[a+b+int(size):]
	}
	if len(rest) > 0 {
		return errStream
	}
	return nil
}

// sendWords sends every rank its outbox and takes what they send here, once it
// has come whole: a table that is to hold the words has to know how many.
func sendWords(ctx context.Context, x *Exchange, out []outbox, expect func(words int), word func(w []byte, n uint64)) error {
	streams, come := make([][]byte, len(out)), make([][]byte, len(out))
	for r := range out {
		streams[r] = out[r].sealed()
	}
	err := x.Do(ctx, streams, func(from int, piece []byte) error {
		come[from] = append(come[from], piece...)
		return nil
	})
	for r := range come {
		if err == nil {
			err = takeWords(come[r], expect, word)
		}
	}
	return err
}
