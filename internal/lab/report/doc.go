// Package report shows the results of experiments: as text, as JSON, and as one self-contained HTML
// page.
//
//	harness.Result ─┬▶ Line, Text   a terminal
//	                ├▶ JSON         one object a line
//	                └▶ HTML         explanations in two languages, and for each case
//	                   └▶ SVG       a lane for each actor, time from left to right
//
// It adds nothing to a Result and judges nothing.
package report
