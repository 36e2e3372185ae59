package coupon_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

func TestCheckPurchasable_EachState_ReturnsItsError(t *testing.T) {
	for name, tc := range map[string]struct {
		at    time.Time
		state coupon.State
		want  error
	}{
		"a moment early":                    {opens.Add(-1), coupon.OnSale, coupon.ErrNotStarted},
		"the opening instant":               {opens, coupon.OnSale, nil},
		"the opening instant, another zone": {opens.In(time.FixedZone("east", 9*3600)), coupon.OnSale, nil},
		"the last moment":                   {shuts.Add(-1), coupon.OnSale, nil},
		"the shutting instant":              {shuts, coupon.OnSale, coupon.ErrEnded},
		"a draft, early":                    {opens.Add(-1), coupon.Draft, coupon.ErrNotFound},
		"a draft, inside":                   {opens, coupon.Draft, coupon.ErrNotFound},
		"paused, inside":                    {opens, coupon.Paused, coupon.ErrPaused},
		"paused, too late":                  {shuts, coupon.Paused, coupon.ErrEnded},
		"ended, inside":                     {opens, coupon.Ended, coupon.ErrEnded},
		"ended, early":                      {opens.Add(-1), coupon.Ended, coupon.ErrEnded},
		"a state that there is none":        {opens, "lost", coupon.ErrNotLoaded},
	} {
		t.Run(name, func(t *testing.T) {
			c := draft(1)
			c.State = tc.state
			got := c.CheckPurchasable(tc.at)
			require.ErrorIs(t, got, tc.want)
			if got != nil {
				require.Equal(t, name == "paused, inside", errors.Is(got, coupon.ErrPaused))
			}
		})
	}
}

func TestStateAt_EachState_IsWhatABuyerSees(t *testing.T) {
	for _, state := range []coupon.State{coupon.Draft, coupon.OnSale, coupon.Paused, coupon.Ended} {
		c := draft(1)
		c.State = state
		require.Equal(t, state, c.StateAt(opens.Add(-time.Hour)), "early")
		require.Equal(t, state, c.StateAt(shuts.Add(-1)), "the last moment")
		require.Equal(t, coupon.Ended, c.StateAt(shuts), "over, whether or not somebody wrote it down")
	}
}

func TestCouponCheck_EachField_EnforcesBounds(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		alter func(c *coupon.Coupon)
		says  string // empty: it is right
	}{
		"as it is":                    {func(*coupon.Coupon) {}, ""},
		"the longest title":           {func(c *coupon.Coupon) { c.Title = strings.Repeat("ü", coupon.MaxTitle) }, ""},
		"a title too long":            {func(c *coupon.Coupon) { c.Title = strings.Repeat("ü", coupon.MaxTitle+1) }, "title"},
		"no title":                    {func(c *coupon.Coupon) { c.Title = "" }, "title"},
		"a title of blanks":           {func(c *coupon.Coupon) { c.Title = " \t\n" }, "title"},
		"a title with a line break":   {func(c *coupon.Coupon) { c.Title = "a\nb" }, "title"},
		"a title with a zero byte":    {func(c *coupon.Coupon) { c.Title = "a\x00b" }, "title"},
		"a title that is no text":     {func(c *coupon.Coupon) { c.Title = "a\xff" }, "title"},
		"one unit":                    {func(c *coupon.Coupon) { c.Total = 1 }, ""},
		"no unit":                     {func(c *coupon.Coupon) { c.Total = 0 }, "stock must be from 1"},
		"as many units as can be":     {func(c *coupon.Coupon) { c.Total = coupon.MaxStock }, ""},
		"one unit more":               {func(c *coupon.Coupon) { c.Total = coupon.MaxStock + 1 }, "stock"},
		"a limit of none":             {func(c *coupon.Coupon) { c.LimitPerUser = 0 }, "limit_per_user"},
		"the largest limit":           {func(c *coupon.Coupon) { c.LimitPerUser = coupon.MaxLimit }, ""},
		"a limit above it":            {func(c *coupon.Coupon) { c.LimitPerUser = coupon.MaxLimit + 1 }, "limit_per_user"},
		"for nothing":                 {func(c *coupon.Coupon) { c.PriceCents = 0 }, ""},
		"for less than nothing":       {func(c *coupon.Coupon) { c.PriceCents = -1 }, "price_cents"},
		"the highest price":           {func(c *coupon.Coupon) { c.PriceCents = coupon.MaxPrice }, ""},
		"a price above it":            {func(c *coupon.Coupon) { c.PriceCents = coupon.MaxPrice + 1 }, "price_cents"},
		"a window of nothing":         {func(c *coupon.Coupon) { c.EndsAt = c.BeginsAt }, "begins_at must be before ends_at"},
		"a window the wrong way":      {func(c *coupon.Coupon) { c.EndsAt = c.BeginsAt.Add(-1) }, "begins_at must be before ends_at"},
		"no window":                   {func(c *coupon.Coupon) { c.BeginsAt, c.EndsAt = time.Time{}, time.Time{} }, "years 2000 to 9000"},
		"the first and the last year": {func(c *coupon.Coupon) { c.BeginsAt, c.EndsAt = year(2000), year(9000) }, ""},
		"a year too early":            {func(c *coupon.Coupon) { c.BeginsAt = year(1999) }, "years"},
		"a year too late":             {func(c *coupon.Coupon) { c.EndsAt = year(9001) }, "years"},
		"two things":                  {func(c *coupon.Coupon) { c.Total, c.Title = -1, "" }, "title must have 1 to 200 characters; stock must be"},
	} {
		t.Run(name, func(t *testing.T) {
			c := draft(5)
			tc.alter(&c)
			err := c.Validate()
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, coupon.ErrInvalid)
			require.ErrorContains(t, err, tc.says)
		})
	}
}
