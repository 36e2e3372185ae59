package app

// UsageError is a mistake of the configuration or the command line: only the operator can
// mend it.
type UsageError struct{ err error }

// Usage marks err as such a mistake.
func Usage(err error) error { return &UsageError{err} }

func (e *UsageError) Error() string { return e.err.Error() }

// Unwrap returns the mistake.
func (e *UsageError) Unwrap() error { return e.err }
