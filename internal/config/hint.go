package config

import "strings"

// nearest returns the name that is closest to a mistaken one, and false if none
// is close.
func nearest(mistaken string, names []string) (near string, found bool) {
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

// distance counts the letters to insert, delete or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
