package main

// A Part of a file is counted by one rank: every word that begins in [Off, End).
// A word that runs on past the end is finished; one that began before Off
// belongs to the part before.
type Part struct {
	Path     string
	Off, End int64
	Size     int64 // of the file when it was found: what it grows by later is left out
}

// A Share is what rank 0 tells a rank to count.
type Share struct {
	Parts []Part
	NoDir bool // there is nothing to do: rank 0 cannot read the directory, and says so
}

// deal gives every rank of n its share of a tree. It lays the files end to end,
// cuts that into equal pieces and deals them round. So the shares are equal in
// bytes, and because they are many small pieces from everywhere, they are also
// alike in how many words they have.
func deal(t *tree, n int) []Share {
	shares := make([]Share, n)
	piece := pieceSize(t.bytes, n)
	to, room := 0, piece
	for _, f := range t.files {
		for off := int64(0); off < f.size; {
			end := min(f.size, off+room)
			shares[to].Parts = append(shares[to].Parts, Part{f.path, off, end, f.size})
			room -= end - off
			off = end
			if room == 0 {
				to, room = (to+1)%n, piece
			}
		}
	}
	return shares
}

// pieceSize makes 64 pieces for each rank, so that one piece more or less is
// under 2 %, but none so small that opening files twice costs more than that.
func pieceSize(bytes int64, n int) int64 {
	return max(bytes/int64(64*n)+1, 64<<10)
}
