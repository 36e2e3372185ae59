package report

import (
	"slices"

	"example.com/seckill/internal/tools/lab/harness"
)

// align puts the events of cases into common rows, so that the same step of two cases stands in the
// same row. A row has the number of an event for each case, or none. The order of each case is kept.
func align(cases []harness.CaseResult) (rows [][]int) {
	for i, c := range cases {
		rows = merge(rows, cases, c.Events, i)
	}
	return rows
}

// none is where a case has no event in a row.
const none = -1

// merge adds the events of case i, which comes after the cases that rows has already. What it does not
// share with them stands beside what they do not share with it.
func merge(rows [][]int, cases []harness.CaseResult, events []harness.Event, i int) (merged [][]int) {
	r, n := 0, 0
	add := func(toRow, toEvent int) {
		for r < toRow || n < toEvent {
			row := slices.Repeat([]int{none}, i+1)
			if r < toRow {
				copy(row, rows[r])
				r++
			}
			if n < toEvent {
				row[i] = n
				n++
			}
			merged = append(merged, row)
		}
	}
	shared := func(r, n int) bool { return has(rows[r], cases, events[n]) }
	for _, pair := range common(len(rows), len(events), shared) {
		add(pair[0], pair[1])
		add(pair[0]+1, pair[1]+1)
	}
	add(len(rows), len(events))
	return merged
}

// has reports whether a case has the same step in a row.
func has(row []int, cases []harness.CaseResult, e harness.Event) bool {
	for i, n := range row {
		if n == none {
			continue
		}
		if o := cases[i].Events[n]; o.Actor == e.Actor && o.What == e.What && o.Waits == e.Waits {
			return true
		}
	}
	return false
}

// common returns the pairs of a longest common subsequence of two sequences of these lengths.
func common(n, m int, same func(i, j int) bool) (pairs [][2]int) {
	longest := make([][]int, n+1) // of what comes from i and j on
	for i := range longest {
		longest[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if same(i, j) {
				longest[i][j] = max(longest[i][j], longest[i+1][j+1]+1)
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case same(i, j) && longest[i][j] == longest[i+1][j+1]+1:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
