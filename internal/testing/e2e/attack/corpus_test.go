package attack_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// family is a file of the corpus of requests.
type family struct {
	About    string    // what they have in common
	Settings []string  // variables of the server that they are sent to
	Requests []request // in their order: a later one may use what an earlier one was given
}

// request is one that is sent, and what must become of it. Its texts are templates: see words.
type request struct {
	Name string
	Each []string // plays it once for each, as .each
	To   string   // method and target
	As   string   // bearer: a user's id, or admin; empty is no token
	With []string // lines of the header
	Body string   // with its length, unless a line says another
	Raw  string   // all bytes as they are sent, in place of these

	Want string // the status, and the code of the problem: 409 sold_out. closed is no answer at all
	Then string // closed: the answer must be the last of its connection. Otherwise it must not be
	Has  string // the body has this
	Lack string // the body lacks it
	Save string // a field of the answer, for later ones as .saved
	Told bool   // the answer is a token
}

// configuration is a setting, and what the program must say of it.
type configuration struct {
	Name   string
	Real   bool     // with stores, and what they need, under what is set
	Env    []string // variables
	File   string   // content of --config
	Says   []string // it is refused, in words that have these, and no more lines than these are
	Warns  string   // it is accepted with this warning
	Starts bool     // it is valid, and refused when it is started
}

// configurations is a file of the corpus of them.
type configurations struct {
	About          string
	Configurations []configuration
}

// readCorpus reads the files of a folder, by name.
func readCorpus[T any](t *testing.T, folder string) map[string]T {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	corpus := map[string]T{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		var one T
		require.NoError(t, d.Decode(&one), file)
		corpus[strings.TrimSuffix(filepath.Base(file), ".yaml")] = one
	}
	return corpus
}

// every returns each request of a family by itself.
func (f family) every() (all []request, each []string) {
	for _, r := range f.Requests {
		if len(r.Each) == 0 {
			all, each = append(all, r), append(each, "")
		}
		for _, one := range r.Each {
			all, each = append(all, r), append(each, one)
		}
	}
	return all, each
}

// expand replaces what is between braces in a text of the corpus.
func expand(t *testing.T, text string, words template.FuncMap, data any) string {
	t.Helper()
	if !strings.Contains(text, "{{") {
		return text
	}
	parsed, err := template.New("").Funcs(words).Option("missingkey=error").Parse(text)
	require.NoError(t, err, text)
	var out strings.Builder
	require.NoError(t, parsed.Execute(&out, data), text)
	return out.String()
}
