// Package report shows what came of experiments: as text and as JSON.
//
//	bench.Result ─┬▶ Line, Text   a terminal
//	              └▶ JSON         one object a line
//
// It adds nothing to a Result and judges nothing.
package report
