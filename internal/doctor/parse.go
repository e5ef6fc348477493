package doctor

import (
	"slices"
	"strings"
)

// chosen is the word in brackets: "always [madvise] never".
func chosen(text string) string {
	_, text, _ = strings.Cut(text, "[")
	text, _, _ = strings.Cut(text, "]")
	return text
}

// mountOf finds the mount that holds dir, in the format of /proc/self/mountinfo:
// of those above it the last, which covers the others. Options are the mount's,
// then the file system's where they differ.
func mountOf(mounts, dir string) (point, filesystem, options string) {
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		mount, super := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 6 || len(super) < 3 {
			continue
		}
		at := unescape(mount[4])
		if at != dir && at != "/" && !strings.HasPrefix(dir, at+"/") || len(at) < len(point) {
			continue
		}
		point, filesystem, options = at, super[0], mount[5]
		have := strings.Split(options, ",")
		for option := range strings.SplitSeq(super[2], ",") {
			if !slices.Contains(have, option) && option != "rw" && option != "ro" {
				options += "," + option
			}
		}
	}
	return point, filesystem, options
}

// unescape undoes the kernel's octal escapes of white space.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
