// Package attack_test plays hostile requests and careless configurations against the program, on
// embedded stores:
//
//	testdata/requests ─▶ server ─▶ status, code of the problem, fate of the connection
//	testdata/configurations ─▶ start ─▶ refused or warned of, by name
//
// Each file of the corpus is a family: what an attacker of one kind would try, each with what must be
// answered. Behind each request an honest one follows on the same connection, so that no part of the
// first is taken for a second. In the end the audits are clean, the log has no panic, and neither log
// nor answers have a secret.
//
// It sends one request at a time. What many at once do is the chaos faults' of crowds that mean no good.
package attack_test

import (
	"testing"

	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }
