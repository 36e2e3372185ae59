package rush

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// textWidth is the length of a line of the report in columns.
const textWidth = 78

// Style is how a report is printed.
type Style struct {
	JSON    bool        // one JSON object
	Details bool        // the figures that only few readers need, too
	Colour  bool        // the verdict is green or red
	Next    [][2]string // what the reader may do next: a word and a command
}

// Heading describes the run for people: the number of buyers, the units on sale and the limit per user.
func (o Options) Heading(units, limit int) string {
	each := ""
	switch {
	case limit == 1:
		each = ", one each"
	case limit > 1:
		each = ", at most " + number(limit) + " each"
	}
	switch {
	case o.Taps > 0 && units == 0:
		return wrap("", "One user sends "+plural(o.Taps, "request", "requests")+" at once, and no coupon is left.")
	case o.Taps > 0:
		return wrap("", "One user sends "+plural(o.Taps, "request", "requests")+" at once for "+plural(units, "coupon", "coupons")+each+".")
	}
	if units == 0 {
		return wrap("", plural(o.Users, "person wants", "people want")+" a coupon, and none is left.")
	}
	twice := ""
	switch o.DoubleTapEvery {
	case 0:
	case 1:
		twice = " Each of them tries twice."
	case 2:
		twice = " Every second of them tries twice."
	case 3:
		twice = " Every third of them tries twice."
	default:
		twice = fmt.Sprintf(" Every %dth of them tries twice.", o.DoubleTapEvery)
	}
	return wrap("", plural(o.Users, "person wants ", "people want ")+plural(units, "coupon", "coupons")+each+"."+twice)
}

// Print writes the report in a style.
func (r Report) Print(w io.Writer, s Style) error {
	if !s.JSON {
		return r.WriteText(w, s)
	}
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// WriteText writes the report for people, in lines of 78 columns at most: what became of the coupons and of the
// people, the times, the verdict, and the next commands.
func (r Report) WriteText(w io.Writer, s Style) error {
	var b bytes.Buffer
	r.writeBars(&b)
	r.writeOutcomes(&b)
	r.writeTimes(&b)
	r.writeSale(&b)
	if s.Details {
		r.writeDetails(&b)
	}
	r.writeVerdict(&b, s.Colour)
	if len(s.Next) > 0 {
		b.WriteByte('\n')
		for _, next := range s.Next {
			fmt.Fprintf(&b, "  %-10s %s\n", next[0], next[1])
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// ranked reports whether some requests got a unit and others came too late, so that there is an order to judge.
func (r Report) ranked() bool {
	return r.Accepted > 0 && r.Refused[codeSoldOut]+r.Refused[codeNotDrawn] > 0
}

func (r Report) writeBars(b *bytes.Buffer) {
	if r.Stores != nil {
		b.WriteString(bar("coupons", r.Stores.Sold, r.Units, r.soldOfAll()))
	} else {
		b.WriteString(bar("coupons", r.Accepted-r.Cancelled, max(1, r.Left), plural(r.Accepted, "order", "orders")+" by the answers"))
	}
	answered := r.Accepted + sum(r.Refused) + r.Failed
	b.WriteString(bar("people", answered, max(r.Asked, r.Options.taps()), plural(r.Asked, "request", "requests")+" in "+seconds(r.Seconds)))
	b.WriteByte('\n')
}

// soldOfAll returns in words the units that buyers have. Only an audit can count them.
func (r Report) soldOfAll() string { return number(r.Stores.Sold) + " of " + number(r.Units) + " sold" }

// outcome returns in words what became of the requests that were refused with a code.
func (r Report) outcome(code string) string {
	switch code {
	case codeSoldOut:
		return "came too late"
	case codeLimitReached:
		if r.Limit == 1 {
			return "have bought already"
		}
		return "had as many as allowed"
	case codeNotDrawn:
		return "were not drawn"
	case codeNotStarted:
		return "came before the opening"
	case codeEnded:
		return "came after the end"
	case codeInProgress:
		return "had a request in progress"
	case codeUnauthenticated:
		return "had no valid token"
	}
	return "were rejected"
}

func (r Report) writeOutcomes(b *bytes.Buffer) {
	row := func(n int, what, key string) { fmt.Fprintf(b, "  %10s  %-25s %s\n", number(n), what, key) }
	row(r.Accepted, "bought", "orders")
	for _, c := range byCount(r.Refused) {
		row(c.n, r.outcome(c.name), c.name)
	}
	if len(r.Failures) == 0 {
		row(r.Failed, "got no answer", "no_answer")
	}
	for _, c := range byCount(r.Failures) {
		row(c.n, "got no answer", c.name)
	}
}

func (r Report) writeTimes(b *bytes.Buffer) {
	refused := sum(r.Refused) > 0
	if r.Accepted == 0 && !refused {
		return
	}
	row := func(name string, p50, p99 float64) {
		fmt.Fprintf(b, "  %-15s %9s %9s\n", name, millisText(p50), millisText(p99))
	}
	fmt.Fprintf(b, "\n  %-15s %9s %9s   50 and 99 of 100 were faster than this\n", "answered after", "p50", "p99")
	if r.Accepted > 0 {
		row("orders", r.P50Millis, r.P99Millis)
	}
	if refused {
		row("refused", r.RefusedP50Millis, r.RefusedP99Millis)
	}
}

// writeSale writes what became of the sale, in sentences.
func (r Report) writeSale(b *bytes.Buffer) {
	b.WriteByte('\n')
	rate := plural(int(r.OrdersPerSecond+0.5), "order", "orders") + " a second"
	switch {
	case r.SoldOut && r.OrdersPerSecond < 0.5:
		line(b, "Sold out after "+seconds(r.SellingSeconds)+".")
	case r.SoldOut:
		line(b, "Sold out after "+seconds(r.SellingSeconds)+", "+rate+" while there was stock.")
	case r.Accepted > 0 && r.OrdersPerSecond < 0.5:
		line(b, "Not sold out.")
	case r.Accepted > 0:
		line(b, "Not sold out. "+rate+".")
	case r.Asked == 0:
		line(b, "No request was sent.")
	default:
		line(b, "No request got a coupon.")
	}
	if r.ranked() {
		line(b, "First come, first served: "+percent(r.Fairness.InOrder())+" in order. A raffle would be 50 %.")
	}
	if r.Paid > 0 {
		line(b, plural(r.Paid, "order was", "orders were")+" paid.")
	}
	r.writeReturned(b)
	if r.ByOthers > 0 {
		other := " by another buyer, such as you on the page."
		if r.Failed > 0 {
			other = " by other buyers, or by requests that got no answer."
		}
		line(b, "In the database are "+number(r.Committed-r.ByOthers)+" orders by this crowd, "+number(r.ByOthers)+other)
	}
	b.WriteByte('\n')
}

// writeReturned writes how many orders were cancelled, and how many units were sold again. Without an audit the second
// figure is not known. Units also come back from orders that expire, and from orders of other buyers.
func (r Report) writeReturned(b *bytes.Buffer) {
	cancelled := plural(r.Cancelled, "order was", "orders were") + " cancelled"
	cameBack := plural(r.SoldAgain, "unit that came back was", "units that came back were") + " sold again."
	switch {
	case r.Cancelled > 0 && r.Stores == nil:
		line(b, cancelled+".")
	case r.Cancelled > 0 && r.SoldAgain <= r.Cancelled:
		line(b, cancelled+", and "+cameBack)
	case r.Cancelled > 0:
		line(b, cancelled+". With those of other or expired orders, "+cameBack)
	case r.SoldAgain > 0:
		line(b, cameBack)
	}
}

func (r Report) writeDetails(b *bytes.Buffer) {
	b.WriteString("Details\n")
	line(b, number(int(r.RequestsPerSecond+0.5))+
		" HTTP requests were answered a second: purchase requests, repeats, polls, payments, cancellations.")
	line(b, fmt.Sprintf("%s were sent again, after no answer or a rejection that allows it. %s first answered 202 and decided later (queued).",
		plural(r.Repeats, "request", "requests"), plural(r.Queued, "request was", "requests were")))
	if r.Accepted > 0 {
		line(b, fmt.Sprintf("The first request that got a unit and the last order are %s apart.", seconds(r.SellingSeconds)))
	}
	if r.Told > 0 {
		line(b, fmt.Sprintf("The server told %s to wait (Retry-After). Without that waiting p50 is %s, p99 %s.",
			plural(r.Told, "buyer", "buyers"), millisText(r.UntoldP50Millis), millisText(r.UntoldP99Millis)))
	}
	isNew := ""
	if r.Stores != nil {
		isNew = plural(r.Committed, "order is new", "orders are new") + " in the database since the start of the run; "
	}
	line(b, isNew+readBackText(r)+" by their owners.")
	if r.ranked() {
		r.writeFairness(b)
	}
	b.WriteByte('\n')
}

func readBackText(r Report) string {
	if r.ReadBack < r.Accepted {
		return fmt.Sprintf("a sample of %s of %s was read back", number(r.ReadBack), number(r.Accepted))
	}
	return "all " + number(r.ReadBack) + " acknowledged orders were read back"
}

// writeFairness writes how near the run came to first come, first served.
func (r Report) writeFairness(b *bytes.Buffer) {
	f := r.Fairness
	if f.Overtaken == 0 {
		line(b, "No request that came too late was sent before one that got a unit.")
		return
	}
	line(b, fmt.Sprintf("%s came before the last buyer and got nothing: by %s (p50), %s at most.",
		plural(f.Overtaken, "request", "requests"), millisText(f.ByP50Millis), millisText(f.ByMaxMillis)))
	var parts []string
	for _, path := range []string{atOnce, again, waited} {
		if inverted, is := f.ByPath[path]; is {
			parts = append(parts, path+" "+percent(1-inverted))
		}
	}
	line(b, "In order, by how the rejected requests were answered: "+strings.Join(parts, ", ")+".")
	if len(f.ByShard) > 0 {
		least, most := percent(1-slices.Max(f.ByShard)), percent(1-slices.Min(f.ByShard))
		line(b, "In order, by the buyers' home shards: "+least+" to "+most+".")
	}
}

// The escape sequences of the verdict.
const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	plain = "\x1b[0m"
)

// mostShown bounds the violations in the text. The JSON has more.
const mostShown = 10

func (r Report) writeVerdict(b *bytes.Buffer, colour bool) {
	switch {
	case r.GaveUp != "":
		b.WriteString(wrap("", "Given up: "+r.GaveUp+".") + "\n")
	case r.Stopped:
		b.WriteString("Stopped before all buyers were sent.\n")
	}
	for _, n := range r.Notes {
		b.WriteString(wrap("", "Note: "+n+".") + "\n")
	}
	word, paint := "AUDIT NOT RUN", ""
	switch r.Audit {
	case AuditClean:
		word, paint = "AUDIT CLEAN", green
	case AuditViolated:
		word, paint = "AUDIT VIOLATED", red
	}
	rest := ": " + cmp.Or(r.AuditReason, "the run did not get so far") + "."
	if r.Stores != nil {
		rest = "  " + r.soldOfAll() + ", " + number(r.Stores.LeftInDatabase) + " left"
	} else if r.Audit == AuditViolated {
		rest = "  by the answers to the buyers, without the server's audit"
	}
	head := strings.TrimPrefix(wrap("", word+rest), word)
	if colour && paint != "" {
		word = paint + word + plain
	}
	b.WriteString(word + head + "\n")
	if r.Stores != nil {
		line(b, strings.Join(r.promises(), "   "))
	}
	for i, v := range r.Violations {
		if i == mostShown {
			line(b, "✘ and "+number(len(r.Violations)-mostShown)+" more, which --json lists")
			break
		}
		line(b, "✘ "+v)
	}
}

// promises returns the four promises as numbers, which only an audit can count. The blanks in each are not broken
// over lines.
func (r Report) promises() []string {
	all := []string{
		"oversold " + number(r.Oversold), "sold twice " + number(r.Duplicates),
		"lost " + number(r.Lost) + " of " + number(r.ReadBack) + " read back",
	}
	is := "="
	if r.Stores.LeftInRedis != r.Stores.LeftInDatabase {
		is = "≠"
	}
	all = append(all, "Redis "+number(r.Stores.LeftInRedis)+" "+is+" database "+number(r.Stores.LeftInDatabase))
	for i, one := range all {
		all[i] = strings.ReplaceAll(one, " ", hardSpace)
	}
	return all
}

// hardSpace is a blank at which wrap breaks no line.
const hardSpace = "\x00"

// withUnit matches the blank between a number and its unit.
var withUnit = regexp.MustCompile(`(\d) (ms|s|%)`)

// line writes an indented sentence, over several lines if it is long. A number stays with its unit.
func line(b *bytes.Buffer, text string) {
	b.WriteString(wrap("  ", withUnit.ReplaceAllString(text, "$1"+hardSpace+"$2")) + "\n")
}

// wrap breaks a text into lines of textWidth, all of which begin with indent.
func wrap(indent, text string) string {
	var out strings.Builder
	at := 0
	for i, word := range strings.Split(text, " ") {
		width := len([]rune(word))
		switch {
		case i == 0:
			out.WriteString(indent)
			at = len(indent)
		case at+1+width > textWidth && word != "":
			out.WriteString("\n" + indent)
			at = len(indent)
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += width
	}
	return strings.ReplaceAll(out.String(), hardSpace, " ")
}

// number writes a whole number with a comma between thousands.
func number(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// plural writes a number and its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// percent writes a part as percent, rounded down so that 100 % means all.
func percent(part float64) string {
	tenths := int(part*1000 + 1e-6)
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// seconds writes a time as short as it can be read.
func seconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.1f s", s)
}

// millisText writes a latency as short as it can be read.
func millisText(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 10_000:
		return number(int(ms+0.5)) + " ms"
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// count is a number by its reason.
type count struct {
	name string
	n    int
}

// byCount lists the reasons, the most frequent first.
func byCount(m map[string]int) []count {
	list := make([]count, 0, len(m))
	for name, n := range m {
		list = append(list, count{name, n})
	}
	slices.SortFunc(list, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name))
	})
	return list
}
