package main

import "strings"

// similar is the command that somebody meant who mistyped its name, or "". One
// slip in a short name, two in a longer one; upper case is none.
func similar(word string) string {
	if command(word) != nil || strings.Contains(word, "/") {
		return ""
	}
	best, least := "", 3
	for _, c := range shown() {
		allowed := min(2, (len(c.name)-1)/2)
		if d := slips(strings.ToLower(word), c.name); d <= allowed && d < least {
			best, least = c.name, d
		}
	}
	return best
}

// slips counts the letters that are left out, too many, others, or exchanged with
// their neighbour between two words (Damerau's distance, without later changes of
// what was exchanged).
func slips(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
