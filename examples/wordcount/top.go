package main

import "bytes"

// topSize is how many of the most frequent words are shown.
const topSize = 20

// A WordCount is a word and how often it was found.
type WordCount struct {
	Word  string `json:"word"`
	Count uint64 `json:"count"`
}

// top keeps the most frequent words that it was offered, by count, then by word.
type top []WordCount

// wants tells whether a word with this count may belong to the top, which is
// cheaper than to offer each.
func (t top) wants(n uint64) bool { return len(t) < topSize || n >= t[topSize-1].Count }

func (t *top) offer(word []byte, n uint64) {
	l := *t
	at := len(l)
	for at > 0 && (l[at-1].Count < n || l[at-1].Count == n && bytes.Compare([]byte(l[at-1].Word), word) > 0) {
		at--
	}
	if at == topSize {
		return
	}
	if len(l) < topSize {
		l = append(l, WordCount{})
	}
	copy(l[at+1:], l[at:])
	l[at] = WordCount{string(word), n}
	*t = l
}
