package config

import "strings"

// Nearest returns the name that is closest to a mistaken one, and false if none
// is close.
func Nearest(mistaken string, names []string) (near string, found bool) {
	const longest = 100 // no slip is as long, and the comparison is quadratic
	if len(mistaken) > longest {
		return "", false
	}
	wanted := plain(mistaken)
	best := len(mistaken)/3 + 1
	for _, name := range names {
		if d := distance(wanted, plain(name)); d < best {
			best, near, found = d, name, true
		}
	}
	return near, found
}

// plain drops what people get wrong first: case and separators.
func plain(s string) string {
	return strings.NewReplacer(".", "", "_", "", "-", "").Replace(strings.ToLower(s))
}

// distance counts the letters to insert, delete or replace, and the neighbours to swap, to get from a
// to b.
func distance(a, b string) int {
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
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
