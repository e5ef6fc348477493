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

// inbox puts the stream of one rank together again.
type inbox struct {
	rest  []byte // the begin of a word whose end has not come
	words uint64 // still to come
	begun bool
}

var errStream = errors.New("the words from another rank are not what they should be")

// take hands on the words that are whole with this piece. Before the first it
// tells how many there will be. Neither may keep the bytes.
func (in *inbox) take(piece []byte, expect func(words int), word func(w []byte, n uint64)) error {
	if len(in.rest) > 0 {
		in.rest = append(in.rest, piece...)
		piece = in.rest
	}
	if !in.begun && len(piece) >= 8 {
		in.begun, in.words = true, binary.LittleEndian.Uint64(piece)
		expect(int(in.words))
		piece = piece[8:]
	}
	for in.begun {
		n, a := binary.Uvarint(piece)
		size, b := binary.Uvarint(piece[max(a, 0):])
		if a < 0 || b < 0 {
			return errStream
		}
		if a == 0 || b == 0 || size > uint64(len(piece)-a-b) {
			break
		}
		if in.words == 0 || n == 0 || size == 0 {
			return errStream
		}
		in.words--
		word(piece[a+b:][:size], n)
		piece = piece[a+b+int(size):]
	}
	in.rest = append(in.rest[:0], piece...)
	return nil
}

// sendWords sends every rank its outbox and takes what they send here.
func sendWords(ctx context.Context, x *Exchange, out []outbox, expect func(words int), word func(w []byte, n uint64)) error {
	streams := make([][]byte, len(out))
	for r := range out {
		streams[r] = out[r].sealed()
	}
	in := make([]inbox, len(out))
	err := x.Do(ctx, streams, func(from int, piece []byte) error {
		return in[from].take(piece, expect, word)
	})
	for r := range in {
		if err == nil && (!in[r].begun || in[r].words > 0 || len(in[r].rest) > 0) {
			err = errStream
		}
	}
	return err
}
