package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
)

// mail sends out[r] to rank r, for the ranks that are in out, and returns what
// came, by the rank it came from. All ranks call it.
func mail[T any](ctx context.Context, x *Exchange, out map[int]T) (map[int]T, error) {
	streams := make([][]byte, x.team.Size())
	for r, v := range out {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(v); err != nil {
			return nil, err
		}
		streams[r] = b.Bytes()
	}
	come := make([]bytes.Buffer, len(streams))
	err := x.Do(ctx, streams, func(from int, piece []byte) error {
		come[from].Write(piece)
		return nil
	})
	if err != nil {
		return nil, err
	}
	in := map[int]T{}
	for r := range come {
		if come[r].Len() == 0 {
			continue
		}
		var v T
		if err := gob.NewDecoder(&come[r]).Decode(&v); err != nil {
			return nil, fmt.Errorf("what rank %d sent: %w", r, err)
		}
		in[r] = v
	}
	return in, nil
}
