package repository_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// term is a row of the glossary. A row with several terms has a Chinese word for each, or one for all.
type term struct{ english, chinese []string }

// glossary returns the rows of docs/GLOSSARY.md.
func glossary(t *testing.T) (rows []term) {
	t.Helper()
	for line := range strings.SplitSeq(read(t, "docs/GLOSSARY.md"), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[0]) == "term" {
			continue
		}
		require.Len(t, cells, 4, line)
		rows = append(rows, term{strings.Split(strings.TrimSpace(cells[0]), ", "), strings.Split(strings.TrimSpace(cells[1]), "、")})
	}
	require.Greater(t, len(rows), 50)
	return rows
}

// chineseOf returns the Chinese words that stand for a term.
func chineseOf(t *testing.T, rows []term, english string) []string {
	t.Helper()
	for _, r := range rows {
		if i := slices.Index(r.english, english); i >= 0 && len(r.chinese) == len(r.english) {
			return r.chinese[i : i+1]
		} else if i >= 0 {
			return r.chinese
		}
	}
	require.Fail(t, "docs/GLOSSARY.md does not define "+english)
	return nil
}

func TestGlossary_Term_IsDefinedOnceInBothLanguages(t *testing.T) {
	english, chinese := map[string]bool{}, map[string]bool{}
	for _, r := range glossary(t) {
		for _, word := range r.english {
			assert.False(t, english[word], "docs/GLOSSARY.md defines %q twice", word)
			english[word] = true
		}
		for _, word := range r.chinese {
			assert.NotEmpty(t, word, "%v has no Chinese word", r.english)
			assert.False(t, chinese[word], "%q stands for two terms", word)
			chinese[word] = true
		}
	}
}

// translated are the terms that a Chinese text has if its English has them. The other terms are everyday words
// as well, or a sentence may go without them. A plural is found by its singular.
var translated = map[string]string{
	"admission": "admission", "audit": "audit", "coupon": "coupon", "embedded stores": "embedded stores", "experiment": "experiment",
	"fence": "fence", "home shard": "home shard", "in doubt": "in doubt", "instance": "instance", "invariant": "invariant",
	"lease": "lease", "live order": "live order", "load test": "load test", "open hold": "hold", "oversold": "oversell",
	"renewal": "renewal", "shard": "shard", "sibling": "sibling", "sold out": "sold out", "undersold": "undersell", "void": "void",
}

// bilingual is a text of the page or of the lab.
type bilingual struct{ at, english, chinese string }

func TestGlossary_PageAndLab_UseItsChineseWords(t *testing.T) {
	rows, texts := glossary(t), slices.Concat(pageTexts(t), labTexts(t))
	for pattern, name := range translated {
		words, found := chineseOf(t, rows, name), 0
		form := regexp.MustCompile(`(?i)\b` + pattern + `('?s)?\b`)
		for _, text := range texts {
			if !form.MatchString(quotedCommand.ReplaceAllString(text.english, "")) {
				continue
			}
			found++
			has := func(word string) bool { return strings.Contains(text.chinese, word) }
			if !slices.ContainsFunc(words, has) {
				t.Errorf("%s: %q is %s in Chinese, and not %q", text.at, text.english, words[0], text.chinese)
			}
		}
		assert.Positive(t, found, "no text has %q", pattern)
	}
}

// quotedCommand is a command in a text, which is the same in every language.
var quotedCommand = regexp.MustCompile(`seckill( [a-z-]+)+`)

// pageTexts returns the words of the page.
func pageTexts(t *testing.T) (texts []bilingual) {
	t.Helper()
	const file = "internal/api/web/words.js"
	english, chinese, found := strings.Cut(read(t, file), "\n  zh: {\n")
	require.True(t, found)
	said := regexp.MustCompile(`(\w+): "([^"]*)"`)
	inChinese := map[string]string{}
	for _, m := range said.FindAllStringSubmatch(chinese, -1) {
		inChinese[m[1]] = m[2]
	}
	for _, m := range said.FindAllStringSubmatch(english, -1) {
		texts = append(texts, bilingual{file + ": " + m[1], m[2], inChinese[m[1]]})
	}
	require.Greater(t, len(texts), 200)
	return texts
}

// labTexts returns the texts of the lab and of the gallery: two strings side by side, the second in Chinese.
func labTexts(t *testing.T) (texts []bilingual) {
	t.Helper()
	eachSource(t, func(path string, fset *token.FileSet, file *ast.File) {
		if !strings.Contains(path, "internal/tools/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var side []ast.Expr
			switch n := n.(type) {
			case *ast.CallExpr:
				side = n.Args
			case *ast.CompositeLit:
				side = n.Elts
			}
			for i := 1; i < len(side); i++ {
				english, chinese := literal(side[i-1]), literal(side[i])
				if english != "" && !han.MatchString(english) && han.MatchString(chinese) {
					texts = append(texts, bilingual{fset.Position(n.Pos()).String(), english, chinese})
				}
			}
			return true
		})
	})
	require.Greater(t, len(texts), 200)
	return texts
}

var han = regexp.MustCompile(`\p{Han}`)

// literal returns the value of a string, or of a sum of strings, and "" of anything else.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}

// givenUpChinese are words that stood for a term, each with the word of the glossary.
var givenUpChinese = map[string]string{
	"归属分片": "主分片", "预占": "预扣", "未决占用": "预扣", "不变式": "不变量", "栅栏": "fencing token", "审计": "对账", "嵌入式": "内嵌存储",
	"裸请求": "空接口", "裸路由": "空接口", "个单位": "份", "生成器": "压测端",
}

func TestGlossary_ChineseTexts_HaveOneWordForEachTerm(t *testing.T) {
	var all []string
	for _, r := range glossary(t) {
		all = append(all, r.chinese...)
	}
	texts := map[string]string{}
	for _, d := range documents(t) {
		if d.path == "README.zh-CN.md" || strings.HasPrefix(d.path, "docs/zh/") {
			texts[d.path] = d.text
		}
	}
	for _, text := range slices.Concat(pageTexts(t), labTexts(t)) {
		texts[text.at+" "+text.english] = text.chinese
	}
	for word, better := range givenUpChinese {
		require.Contains(t, all, better)
		for at, text := range texts {
			if i := strings.Index(text, word); i >= 0 {
				t.Errorf("%s: %s is called %s: …%s", at, word, better, firstRunes(text[i:], 20))
			}
		}
	}
}

func firstRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(n, len(runes))])
}

// A Chinese reader searches for these words, and all of them are here.
func TestChineseREADME_FieldsWords_AreThere(t *testing.T) {
	text := read(t, "README.zh-CN.md")
	for word := range strings.FieldsSeq("超卖 少卖 一人一单 库存分片 热点 预扣 幂等 对账 限流 削峰 看门狗 续期 可重入 组提交 雪花 落库 兜底 空接口 压测") {
		assert.Contains(t, text, word)
	}
	assert.Contains(t, text, "fencing token")
	assert.NotContains(t, text, "您", "a document says 你")
}
