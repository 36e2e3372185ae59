package testbed

// RaceFlags returns the flags of go for a program with the race detector, as `make test` has them. checkptr,
// which -race brings along, looks at every conversion of a pointer: the program makes none itself, and the
// embedded database makes so many that its tests would take a fifth longer.
func RaceFlags() []string { return []string{"-race", "-gcflags=all=-d=checkptr=0"} }
