package repository_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// longestTestName is the limit of a test's name in characters.
const longestTestName = 70

var (
	testForm = regexp.MustCompile(`^(Test|Fuzz)([A-Z0-9][A-Za-z0-9]*)(_[A-Z0-9][A-Za-z0-9]*){2}$`)
	// sentence matches a subject that begins a sentence. A subject is the name of a thing.
	sentence = regexp.MustCompile(`^(Test|Fuzz)(A|An|The|Every|Each|Who|Whom|Whose|Whoever|What|Whatever|Of|As|Those|That|It|Nobody|Nothing)[A-Z0-9]`)
	// otherNames are functions that the test command runs and that are not tests.
	otherNames = []string{
		"TestMain",  // sets up the tests of a package
		"TestChild", // is the program of a test
	}
)

func misnamed(name string) string {
	switch {
	case slices.Contains(otherNames, name):
		return ""
	case !testForm.MatchString(name):
		return "want TestSubject_Condition_Result"
	case sentence.MatchString(name):
		return "begins a sentence: name the subject first"
	case len(name) > longestTestName:
		return "is too long"
	}
	return ""
}

func TestTestNames_EveryTest_HasSubjectConditionResult(t *testing.T) {
	found := 0
	eachSource(t, func(path string, fset *token.FileSet, file *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			found++
			if why := misnamed(f.Name.Name); why != "" {
				t.Errorf("%s: %s: %s", fset.Position(f.Pos()), f.Name.Name, why)
			}
		}
	})
	require.Greater(t, found, 1500, "the tests are not found")
}

func TestTestNames_OtherForms_AreRejected(t *testing.T) {
	for name, accepted := range map[string]bool{
		"TestCache_Refresh_LoadsForeignChange": true,
		"TestNoLock_NotAllowed_IsRefused":      true,
		"TestInTx_Panic_RollsBack":             true,
		"FuzzEvent_AnyEvent_RoundTrips":        true,
		"TestMain":                             true,

		"TestCache":                               false,
		"TestCache_LoadsForeignChange":            false,
		"TestACacheLoadsWhatOthersChanged":        false,
		"TestTheCache_Refresh_LoadsChange":        false,
		"TestCache_refresh_loads":                 false,
		"TestCache_A_B_C":                         false,
		"TestCache_X_" + strings.Repeat("y", 70):  false,
		"TestCache_X_Y" + strings.Repeat("y", 70): false,
	} {
		assert.Equal(t, accepted, misnamed(name) == "", name)
	}
}
