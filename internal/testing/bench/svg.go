package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// WriteSVG draws throughput and latency against the offered load: two charts over one axis of
// arrivals. Without a measurement of the load it writes nothing.
func (r *Report) WriteSVG(w io.Writer) error {
	if len(r.Load) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`,
		chartWidth, 2*chartHeight+56, "Throughput and latency against offered load")
	b.WriteString(chartStyle)
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%d"/>`, chartWidth, 2*chartHeight+56)
	r.chart(&b, 0, "orders per second, committed; dashed: what was offered", []series{{"committed", "good", rate}}, linear)
	r.chart(&b, chartHeight, "latency from the moment a buyer was due, ms", []series{{"p99", "slow", p99}, {"p50", "good", p50}}, decades)
	for i, line := range append([]string{r.Ordering}, r.Environment[:min(2, len(r.Environment))]...) {
		fmt.Fprintf(&b, `<text class="quiet" x="%d" y="%d">%s</text>`, left, 2*chartHeight+12+16*i, escape(line))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err //nolint:wrapcheck // there is nothing to add
}

const (
	chartWidth, chartHeight  = 860, 270
	left, right, top, bottom = 70, 90, 40, 40
)

// chartStyle has the colours of light and dark pages. The classes name what is drawn.
const chartStyle = `<style>
.ground{fill:#fff} text{font:13px system-ui,sans-serif;fill:#1f2328} .quiet{fill:#59636e;font-size:11px} .title{font-weight:600}
.grid{stroke:#d1d9e0;stroke-width:1} .ideal{stroke:#59636e;stroke-dasharray:4 4;fill:none}
.good{stroke:#0969da;fill:none;stroke-width:2} .slow{stroke:#bc4c00;fill:none;stroke-width:2}
circle.good{fill:#0969da} circle.slow{fill:#bc4c00} text.good{fill:#0969da;stroke:none} text.slow{fill:#bc4c00;stroke:none}
@media (prefers-color-scheme:dark){
.ground{fill:#0d1117} text{fill:#f0f6fc} .quiet{fill:#9198a1} .grid{stroke:#3d444d} .ideal{stroke:#9198a1}
.good{stroke:#4493f8} .slow{stroke:#f0883e} circle.good{fill:#4493f8} circle.slow{fill:#f0883e}
text.good{fill:#4493f8} text.slow{fill:#f0883e}
}
</style>`

type series struct {
	name, class string
	of          metric
}

// A scale turns the highest value into ticks and each value into a share of the
// chart's height.
type scale func(most float64) (ticks []float64, height func(float64) float64)

// linear begins at zero.
func linear(most float64) (ticks []float64, height func(float64) float64) {
	step := niceStep(most)
	most = math.Ceil(most/step) * step
	for v := 0.0; v <= most*1.001; v += step {
		ticks = append(ticks, v)
	}
	return ticks, func(v float64) float64 { return v / most }
}

// decades has a line for every power of ten, from one: a queue makes a latency a hundred times
// longer, and the latency before should be visible too.
func decades(most float64) (ticks []float64, height func(float64) float64) {
	n := max(1, math.Ceil(math.Log10(max(most, 1))))
	for i := range int(n) + 1 {
		ticks = append(ticks, math.Pow10(i))
	}
	return ticks, func(v float64) float64 { return math.Log10(max(v, 1)) / n }
}

// chart draws one of the two.
func (r *Report) chart(b *strings.Builder, y0 int, title string, all []series, scaled scale) {
	var most, wide float64
	for _, row := range r.Load {
		wide = max(wide, row.At)
		for _, s := range all {
			most = max(most, row.figures[s.of])
		}
	}
	across, along := linear(wide)
	up, height := scaled(most)
	x := func(v float64) float64 { return left + along(v)*(chartWidth-left-right) }
	y := func(v float64) float64 { return float64(y0+chartHeight-bottom) - height(v)*(chartHeight-top-bottom) }
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`, left, y0+24, escape(title))
	for _, v := range up {
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="quiet" text-anchor="end" x="%d" y="%.1f">%s</text>`,
			left, chartWidth-right, y(v), y(v), left-8, y(v)+4, tickText(v))
	}
	for _, v := range across {
		fmt.Fprintf(b, `<text class="quiet" text-anchor="middle" x="%.1f" y="%d">%s</text>`, x(v), y0+chartHeight-bottom+18, tickText(v))
	}
	fmt.Fprintf(b, `<text class="quiet" text-anchor="end" x="%d" y="%d">arrivals per second</text>`, chartWidth-8, y0+chartHeight-bottom+34)
	if end := min(wide, up[len(up)-1]); y0 == 0 {
		fmt.Fprintf(b, `<path class="ideal" d="M%.1f %.1fL%.1f %.1f"/>`, x(0), y(0), x(end), y(end))
	}
	label := math.Inf(-1)
	for _, s := range all { // the higher line first: its name stands above the other's
		var line strings.Builder
		for i, row := range r.Load {
			verb := "L"
			if i == 0 {
				verb = "M"
			}
			px, py := x(row.At), y(row.figures[s.of])
			fmt.Fprintf(&line, "%s%.1f %.1f", verb, px, py)
			fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="3"><title>%s at %.0f/s: %s %.1f</title></circle>`,
				s.class, px, py, escape(row.Name), row.At, s.name, row.figures[s.of])
		}
		last := r.Load[len(r.Load)-1]
		label = max(label+14, y(last.figures[s.of])+4)
		fmt.Fprintf(b, `<path class="%s" d="%s"/><text class="%s" x="%.1f" y="%.1f">%s</text>`,
			s.class, line.String(), s.class, x(last.At)+8, label, s.name)
	}
}

// niceStep divides a range into about five, by 1, 2 or 5 times a power of ten.
func niceStep(most float64) float64 {
	if most <= 0 {
		return 1
	}
	rough := most / 5
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, by := range []float64{1, 2, 5} {
		if rough <= by*power {
			return by * power
		}
	}
	return 10 * power
}

func tickText(v float64) string {
	if v == math.Trunc(v) {
		return grouped(int64(v))
	}
	return fmt.Sprintf("%.3g", v)
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escape(s string) string { return escaper.Replace(s) }
