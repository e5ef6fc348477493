package symwin

// smallBytes is where the front door changes engines: blocks of up to so many
// bytes per peer go through slots that begin with a tagged line, larger ones
// through the copy engine. All ranks decide by operation, team size and count
// alone, so they agree.
//
// Where data goes the engine cannot know: into private memory slots are faster
// far beyond, into windows copies are from about 2 KiB on. So the border is where
// either loses equally much by the other's choice (µs, slots | copies to private
// memory | copies to windows):
//
//	           4 KiB              8 KiB              16 KiB
//	2 ranks    1.4 | 3.5 | 0.9    2.1 | 4.9 | 1.3    3.7 | 7.2 | 1.8
//	8, 2 CPUs   37 | 106 | 29                        127 | 223 | 81
//
// Above 16 ranks memory draws it: slots for everybody take
// 2·ranks·(64 + smallBytes) bytes of each member's window, here at most 256 KiB
// and 384 bytes a rank.
func smallBytes(ranks int) int { return max(min(8<<10, 128<<10/ranks), 64) }

func small(bytes, ranks int) bool { return bytes <= smallBytes(ranks) }
