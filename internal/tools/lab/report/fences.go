package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// longNumber matches a fence of Redis. Two fences of one experiment differ only in their last digits.
var longNumber = regexp.MustCompile(`\b[0-9]{12,}\b`)

// shortEnd is the least number of digits that are shown of a long number.
const shortEnd = 4

// shortened returns the text with the last digits of each long number. It keeps enough digits to tell the long numbers
// of the case apart.
func shortened(c harness.CaseResult, text string) string {
	if !longNumber.MatchString(text) {
		return text
	}
	var all []string
	for _, e := range c.Events {
		all = append(all, longNumber.FindAllString(e.What+" "+e.Note, -1)...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	digits := shortEnd
	for ; ; digits++ {
		ends := make(map[string]bool, len(all))
		for _, n := range all {
			ends[n[max(0, len(n)-digits):]] = true
		}
		if len(ends) == len(all) {
			break
		}
	}
	return longNumber.ReplaceAllStringFunc(text, func(n string) string {
		return "…" + n[max(0, len(n)-digits):]
	})
}

// whatOf returns a step, with short fences.
func whatOf(c harness.CaseResult, e harness.Event, language string) string {
	return shortened(c, c.Told(e.What, language))
}

// noteOf returns the server's answer to a step, with short fences. It compares a fence with the fence before. If the
// condition of a write held for no row, it returns the reason.
func noteOf(c harness.CaseResult, e harness.Event, language string) string {
	if why, refused := refusal(c, e); refused {
		return "✔ " + why.In(language)
	}
	note := shortened(c, c.Told(e.Note, language))
	got, granted := fenceOf(e)
	before, known := fenceBefore(c, e)
	switch {
	case !granted || !known:
		return note
	case got > before:
		return note + word(language, ", larger", "，更大")
	}
	return note + word(language, ", not larger", "，没有变大")
}

// granted matches the fence in the answer to an acquisition. conditions matches the condition of a write, and fenceSet
// the fence that it stores.
var (
	granted    = regexp.MustCompile(`fence ([0-9]+)$`)
	conditions = regexp.MustCompile(` AND (fence <=|version =) [0-9]+$`)
	fenceSet   = regexp.MustCompile(`\bfence = ([0-9]+)\b`)
)

// fenceOf returns the fence of an acquisition.
func fenceOf(e harness.Event) (fence uint64, ok bool) {
	found := granted.FindStringSubmatch(e.Note)
	if e.Kind != harness.Acquire || found == nil {
		return 0, false
	}
	fence, err := strconv.ParseUint(found[1], 10, 64)
	return fence, err == nil
}

// fenceBefore returns the fence of the acquisition before e.
func fenceBefore(c harness.CaseResult, e harness.Event) (fence uint64, ok bool) {
	for _, earlier := range c.Events {
		if earlier.N >= e.N {
			break
		}
		if f, granted := fenceOf(earlier); granted {
			fence, ok = f, true
		}
	}
	return fence, ok
}

// refusal returns the reason for which the database refused a write: a condition on a fence or a version held for no
// row. It returns false for any other step.
func refusal(c harness.CaseResult, e harness.Event) (why harness.Text, refused bool) {
	condition := conditions.FindStringSubmatch(e.What)
	if e.Kind != harness.Write || e.Note != "0 rows" || condition == nil {
		return why, false
	}
	if strings.HasPrefix(condition[1], "version") {
		return harness.NewText("refused: the version has changed", "被拒：版本号已变"), true
	}
	seen := ""
	for _, earlier := range c.Events {
		if earlier.N >= e.N {
			break
		}
		if set := fenceSet.FindStringSubmatch(earlier.What); set != nil && earlier.Note != "0 rows" {
			seen = shortened(c, set[1])
		}
	}
	return harness.NewText("refused: the database has seen "+seen, "被拒：数据库已见过 "+seen), true
}
