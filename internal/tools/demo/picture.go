package demo

import (
	"fmt"
	"io"
	"strings"
)

// The measures of the picture, in pixels.
const (
	pictureWidth = 760
	nameWidth    = 170
	rowHeight    = 92
	barHeight    = 26
	headHeight   = 74
)

// WriteSVG draws the comparison: for each design a bar of its orders. The part of a bar above the stock is red.
func (c Comparison) WriteSVG(w io.Writer) error {
	most := int(c.Units)
	for _, r := range c.Designs {
		most = max(most, r.Orders)
	}
	space := float64(pictureWidth - nameWidth - 30)
	width := func(n int) float64 { return space * float64(n) / float64(max(1, most)) }
	height := headHeight + rowHeight*len(c.Designs) + 14

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="14">`+"\n",
		pictureWidth, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", pictureWidth, height)
	fmt.Fprintf(&b, `<text x="16" y="32" font-size="20" font-weight="bold">%s people want %s units</text>`+"\n",
		whole(c.Users), whole(int(c.Units)))
	fmt.Fprintf(&b, `<text x="16" y="54" fill="#666">Orders of each design with the same crowd, %s, seckill %s</text>`+"\n",
		c.Date, escaped.Replace(c.Version))
	for i, r := range c.Designs {
		y := headHeight + rowHeight*i
		sold := min(r.Orders, int(c.Units))
		fmt.Fprintf(&b, `<text x="16" y="%d" font-weight="bold">%s</text>`+"\n", y+barHeight-8, escaped.Replace(r.Design))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="#2a7d4f"/>`+"\n", nameWidth, y, width(sold), barHeight)
		if over := r.Orders - sold; over > 0 {
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#c0392b"/>`+"\n",
				nameWidth+width(sold), y, width(over), barHeight)
		}
		verdict, colour := "audit: clean", "#2a7d4f"
		if !r.Clean {
			verdict, colour = "audit: VIOLATED", "#c0392b"
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s orders, %s oversold, %s sold twice, %s lost</text>`+"\n", nameWidth, y+barHeight+20,
			whole(r.Orders), whole(r.Oversold), whole(r.SoldTwice), whole(r.Lost))
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#666">sold out after %s, p99 %s, CPU per request %s, `+
			`<tspan fill="%s" font-weight="bold">%s</tspan></text>`+"\n", nameWidth, y+barHeight+40,
			duration(r.SoldOutMS), duration(r.P99), duration(r.CPUPerMS), colour, verdict)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err //nolint:wrapcheck // the caller's writer failed
}

// escaped escapes text for XML.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
