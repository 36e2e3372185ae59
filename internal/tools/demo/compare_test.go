package demo

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/app"
	"example.com/seckill/internal/tools/designs"
	"example.com/seckill/internal/tools/rush"
)

func TestCompare_SmallCrowd_EndsInOneTableAndOnePicture(t *testing.T) {
	var out bytes.Buffer
	svg := filepath.Join(t.TempDir(), "designs.svg")
	d := Demo{Users: 1500, Stock: 1000, Shards: 2, Limit: 1, Out: &out, Err: io.Discard, Log: io.Discard}
	require.NoError(t, d.Compare(t.Context(), svg))
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSpace(line)), 78, line)
	}
	require.Regexp(t, `(?m)^ +naive +conditional-update +seckill$`, out.String())
	require.Regexp(t, `(?m)^orders +[\d,]+ +1,000 +1,000$`, out.String())
	require.Regexp(t, `(?m)^oversold +[1-9][\d,]* +0 +0$`, out.String())
	require.Regexp(t, `(?m)^audit +VIOLATED +clean +clean$`, out.String())

	picture, err := os.ReadFile(svg)
	require.NoError(t, err)
	for _, name := range compared {
		require.Contains(t, string(picture), ">"+name+"<")
	}
	require.NoError(t, xml.Unmarshal(picture, new(struct{ XMLName xml.Name })))
}

func TestCompare_JSON_HasTheFiguresOfEachDesign(t *testing.T) {
	var out bytes.Buffer
	d := Demo{Users: 60, Stock: 10, Shards: 1, Limit: 1, Style: rush.Style{JSON: true}, Out: &out, Err: io.Discard, Log: io.Discard}
	require.NoError(t, d.Compare(t.Context(), ""))
	require.Contains(t, out.String(), `{"users":60,"units":10,`)
	require.Contains(t, out.String(), `{"design":"seckill","orders":10,"oversold":0,"sold_twice":0,"lost":0,"sold_out_after_ms":`)
}

func TestCompare_JSON_CPUIsPerRequestAndRounded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := Demo{Users: 60, Stock: 10, Shards: 1, Limit: 1, Style: rush.Style{JSON: true}, Out: &out, Err: io.Discard, Log: io.Discard}
	require.NoError(t, d.Compare(t.Context(), ""))
	require.Equal(t, 3, strings.Count(out.String(), `"cpu_per_request_ms":`), out.String())
	require.NotRegexp(t, `\.\d{3}`, out.String())
	require.NotContains(t, out.String(), "per_order")
}

func TestSoldOutAfter_UnitsLeftOrOversold_IsNotKnown(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 250, soldOutAfter(rush.Report{Committed: 10, SellingSeconds: 0.25}, 10), 0)
	require.Zero(t, soldOutAfter(rush.Report{Committed: 9, SellingSeconds: 0.25}, 10))
	require.Zero(t, soldOutAfter(rush.Report{Committed: 11, Oversold: 1, SellingSeconds: 0.25}, 10))
}

func TestCompare_PictureCannotBeWritten_PlaysNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := Demo{Users: 60, Stock: 10, Shards: 1, Limit: 1, Out: &out, Err: io.Discard, Log: io.Discard}
	svg := filepath.Join(t.TempDir(), "none", "x.svg")
	err := d.Compare(t.Context(), svg)
	require.ErrorContains(t, err, "--svg: cannot write "+svg+": no such file or directory")
	require.ErrorAs(t, err, new(*app.UsageError))
	require.Empty(t, out.String())
}

func TestWriteText_RightAndWrongResult_NamesBoth(t *testing.T) {
	var out bytes.Buffer
	c := Comparison{Users: 10_000, Units: 500, Designs: []Result{
		{Design: "naive", Orders: 10_583, Oversold: 10_083, SoldTwice: 3, P99: 9.5},
		{Design: designs.Own, Orders: 500, SoldOutMS: 250, P99: 85, CPUPerMS: 1.5, Clean: true},
	}}
	require.NoError(t, c.WriteText(&out))
	for _, want := range []string{
		"10,000 people want 500 units", "orders                        10,583                  500",
		"sold out after                     –               250 ms", "CPU per request                    –              1.50 ms",
		"audit                       VIOLATED                clean",
	} {
		require.Contains(t, out.String(), want)
	}
}
