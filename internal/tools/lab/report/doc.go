// Package report shows the results of experiments: as text, as JSON, and as one self-contained HTML
// page.
//
//	harness.Result ─┬▶ Line, Text   a terminal
//	                ├▶ JSON         one object a line
//	                ├▶ HTML         explanations in two languages, and the drawings
//	                └▶ Drawing      a column for each actor, time downwards, for HTML and the page
//
// It adds nothing to a Result and judges nothing.
package report
