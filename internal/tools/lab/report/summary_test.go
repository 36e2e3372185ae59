package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
)

func TestSummary_EachLanguage_IsItsOwn(t *testing.T) {
	no := harness.NewText("no server", "没有服务器")
	results := []harness.Result{sample(), {Name: "other", NotRun: &no}}
	for language, says := range map[string][]string{
		"en": {"1 of 2 as expected, 1 not run", "install what is missing"},
		"zh": {"符合预期 1 个，共 2 个，未运行 1 个", "请安装缺少的程序"},
	} {
		var out strings.Builder
		report.Summary(&out, results, false, language)
		for _, s := range says {
			require.Contains(t, out.String(), s)
		}
		if language == "zh" {
			require.NotRegexp(t, `[a-z]{4,} [a-z]{3,} [a-z]{3,}`, out.String())
		}
	}
}
