// Package internal holds what is told of the whole program: its planted bugs, which lie beside the tests
// that must notice them.
package internal

import "embed"

// Mutants are the patches of the planted bugs, at PACKAGE/testdata/mutants/NAME.patch. They are embedded as
// they are, so what the program shows of them is never older than they are.
//
//go:embed */testdata/mutants/*.patch */*/testdata/mutants/*.patch
var Mutants embed.FS

// Results are the last outcome of each mutant, a JSON object a line.
//
//go:embed testing/mutation/testdata/results.jsonl
var Results string
