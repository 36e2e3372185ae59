package lab_test

import (
	"flag"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// rounds is how often each experiment is played: `go test ./internal/tools/lab -rounds 20`.
var rounds = flag.Int("rounds", 1, "how often each experiment is played")

func TestExperiments_WrongAndRight_OnlyWrongShowsAnomaly(t *testing.T) {
	servers := harness.NewServers(harness.Config{MySQL: testservers.MariaDB(t).DSN(""), Redis: testservers.Redis(t).Addr()})
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	for _, e := range lab.All() {
		t.Run(e.Name, func(t *testing.T) {
			for round := range *rounds {
				r := lab.Play(t.Context(), servers, e)
				require.True(t, r.AsExpected(), "round %d: %s", round+1, describe(r))
				require.Empty(t, untold(r), "harness/chinese.go does not have these")
				require.Empty(t, overlapping(r), "a lease is drawn beyond the moment at which the server let another in")
			}
		})
	}
}

// describe returns what was not as expected.
func describe(r harness.Result) string {
	var out strings.Builder
	out.WriteString(r.Failed)
	_ = report.Text(&out, r, "en")
	return out.String()
}

// overlapping returns the leases of one name that last while another actor has one. MySQL alone gives
// both: to two that share one connection.
func overlapping(r harness.Result) (all []harness.Span) {
	if r.Name == "get-lock-wrong-connection" {
		return nil
	}
	for _, c := range r.Cases {
		for _, s := range c.Spans {
			for _, o := range c.Spans {
				if s.Kind == harness.LeaseSpan && o.Kind == s.Kind && o.Label == s.Label && o.Actor != s.Actor &&
					s.From < o.From && (s.To < 0 || s.To > o.From) {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// words matches English: two words in a row in a step, or an actor or an answer of one word.
var (
	words  = regexp.MustCompile(`[a-z]{3,} [a-z]{2,}`)
	word   = regexp.MustCompile(`[a-z]{3,}`)
	server = regexp.MustCompile(`^error \d+: |invalid connection|^→ "`) // the server's own words
)

// untold returns what a timeline has in English alone.
func untold(r harness.Result) (all []string) {
	for _, c := range r.Cases {
		missing := func(text string, english *regexp.Regexp) {
			if english.MatchString(text) && !server.MatchString(text) && c.Told(text, "zh") == text {
				all = append(all, text)
			}
		}
		for _, actor := range c.Actors {
			missing(actor, word)
		}
		for _, turn := range c.Schedule {
			for _, until := range turn.Until {
				missing(until, words)
			}
		}
		for _, e := range c.Events {
			missing(e.What, words)
			missing(e.Note, word)
		}
	}
	return all
}
