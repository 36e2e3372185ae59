// Package repository_test holds what concerns the repository as a whole: which package may import which, that the
// documents are true, and the words.
package repository_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "example.com/seckill/"

// The domain imports the standard library, and otherwise only the packages that are listed here.
var domain = map[string][]string{
	"internal/coupon":        {"golang.org/x/sync/singleflight"},
	"internal/lock":          {},
	"internal/order":         {"internal/coupon", "internal/lock", "internal/platform/gather"},
	"internal/lottery":       {"internal/coupon", "internal/lock", "internal/order"},
	"internal/testing/model": {}, // the domain's model, which knows nothing of the program
}

// libraries belong to one package each, or to a few: no other may import them.
var libraries = map[string][]string{
	"github.com/go-jose/":               {"internal/api/auth"},
	"github.com/gin-gonic/gin":          {"internal/api", "internal/api/web", "internal/testing/bench/cmd/bare"},
	"gorm.io/gorm":                      {"internal/store"},
	"github.com/glebarez/sqlite":        {"internal/store"},
	"github.com/alicebob/miniredis/":    {"internal/platform/embedded"},
	"github.com/spf13/":                 {"cmd/seckill", "cmd/seckill/internal/cli"},
	"github.com/prometheus/":            {"internal/observe/metrics", "internal/testing/faultnet"}, // toxiproxy counts with it
	"github.com/Shopify/toxiproxy/":     {"internal/testing/faultnet"},
	"github.com/rs/zerolog":             {"internal/testing/faultnet"}, // toxiproxy logs with it
	"github.com/bwmarrin/snowflake":     {"internal/idworker"},
	"golang.org/x/time/":                {"internal/admission", "internal/api", "internal/platform/ratelimit", "internal/observe/tracing"},
	"go.opentelemetry.io/":              {"internal/observe/tracing"},
	"github.com/failsafe-go/":           {"internal/admission", "internal/platform/breaker"},
	"github.com/bluekeyes/go-gitdiff":   {"internal/testing/mutation"},
	"golang.org/x/tools/":               {"internal/testing/cmd/typecheck"},
	"github.com/anishathalye/porcupine": {"internal/testing/locktest/history"},
	"gotest.tools/gotestsum/":           {"internal/testing/skips"},
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", modulePath+"...").Output()
	require.NoError(t, err)
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		p.ImportPath = strings.TrimPrefix(p.ImportPath, modulePath)
		all = append(all, p)
	}
}

// kind returns the kind of a package: platform, observe, tools or testing, by its folder in internal, cmd, or
// the sale, which is the rest of internal.
func kind(path string) string {
	if strings.HasPrefix(path, "cmd/") {
		return "cmd"
	}
	below := strings.TrimPrefix(path, "internal/") // the package internal has the planted bugs
	folder, _, _ := strings.Cut(below, "/")
	if slices.Contains([]string{"platform", "observe", "tools", "testing"}, folder) {
		return folder
	}
	return "sale"
}

// mayImport has the kinds that each kind of package may import, in addition to sql. Tests may import anything.
var mayImport = map[string][]string{
	"platform": {"platform"},
	"observe":  {"observe", "platform", "sale"},
	"sale":     {"sale", "observe", "platform"},
	"tools":    {"tools", "sale", "observe", "platform"},
	"testing":  {"testing", "tools", "sale", "observe", "platform"},
	"cmd":      {"cmd", "tools", "sale", "observe", "platform"},
}

func TestImports_KindOfPackage_ImportsOnlyKindsThatItMay(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			ours, is := strings.CutPrefix(imported, modulePath)
			if is && ours != "sql" && !slices.Contains(mayImport[kind(p.ImportPath)], kind(ours)) {
				t.Errorf("%s is of the kind %s and must not import %s", p.ImportPath, kind(p.ImportPath), ours)
			}
		}
	}
}

// An ordinary build links no test infrastructure. With the tag faults the program has chaos and the fault points.
func TestImports_Program_LinksNothingOfTesting(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", modulePath+"cmd/seckill").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), modulePath+"internal/order\n")
	for path := range strings.Lines(string(out)) {
		if strings.HasPrefix(path, modulePath+"internal/testing") {
			t.Errorf("cmd/seckill links %s", path)
		}
	}
}

func TestImports_Library_StaysInItsPackages(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			for library, may := range libraries {
				if strings.HasPrefix(imported, library) && !slices.Contains(may, p.ImportPath) {
					t.Errorf("%s must not import %s: that is for %v", p.ImportPath, imported, may)
				}
			}
		}
	}
}

func TestImports_Domain_ImportsOnlyWhatIsListed(t *testing.T) {
	for _, p := range packages(t) {
		may, is := domain[p.ImportPath]
		if !is {
			continue
		}
		for _, imported := range p.Imports {
			standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
			if !standard && !slices.Contains(may, strings.TrimPrefix(imported, modulePath)) {
				t.Errorf("%s must not import %s", p.ImportPath, imported)
			}
		}
	}
}

// The lottery wraps the order service, which knows nothing of it: only those that need its types import it.
func TestImports_Lottery_IsKnownToFewPackages(t *testing.T) {
	may := []string{"internal/app", "internal/api", "internal/store", "internal/audit"}
	for _, p := range packages(t) {
		if slices.Contains(p.Imports, modulePath+"internal/lottery") && kind(p.ImportPath) != "testing" && !slices.Contains(may, p.ImportPath) {
			t.Errorf("%s must not import internal/lottery: that is for %v", p.ImportPath, may)
		}
	}
}

// A reader who opens internal sees at a glance which folders are the sale.
func TestImports_FolderInternal_HasAtMostSeventeenEntries(t *testing.T) {
	entries, err := os.ReadDir(root + "/internal")
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), 17, "%v", entries)
}
