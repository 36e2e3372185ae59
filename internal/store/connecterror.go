package store

import (
	"errors"
	"fmt"

	driver "github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/platform/certs"
)

// insecureRefused is the number of the error of a server that speaks nothing but TLS.
const insecureRefused = 3159

// awayError returns the line about a database that did not answer the first call. What is wrong with
// its TLS is said in words, and of which server.
func awayError(addr string, err error) error {
	why := certs.Why(err)
	if said, ok := errors.AsType[*driver.MySQLError](err); ok && said.Number == insecureRefused {
		why = "speaks TLS alone"
	}
	if errors.Is(err, driver.ErrNoTLS) {
		why = "does not speak TLS"
	}
	if why == "" {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return &insecureError{"the database at " + addr + " " + why + "; mend mysql.tls and the keys beside it", err}
}

// insecureError is about a database that cannot be talked to as safely as was asked for, or at all.
type insecureError struct {
	text string
	err  error
}

func (e *insecureError) Error() string { return e.text }

// Unwrap returns the driver's error.
func (e *insecureError) Unwrap() error { return e.err }
