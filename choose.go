package symwin

// smallBytes is where the front door changes engines: blocks of up to so many
// bytes per peer go through tagged lines, larger ones through the copy engine.
// All ranks decide by operation, team size and count alone, so they agree.
// (Between two bound ranks the engines cross near 64 bytes.)
const smallBytes = 64

func small(bytes int) bool { return bytes <= smallBytes }
