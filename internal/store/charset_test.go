package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// In GBK the two bytes 0xBF and 0x5C are one character, so that the backslash with which a
// quote is escaped would belong to it, and the quote would end the text.
func TestCharset_AnyDSN_TextIsNeverSQL(t *testing.T) {
	for _, charset := range []string{"gbk", "big5", "sjis", "cp932", "gb2312", "latin1", "utf8mb4"} {
		t.Run(charset, func(t *testing.T) {
			s := onMariaDB(t, "charset="+charset)
			for _, title := range []string{"\xbf'; DROP TABLE coupons; -- ", "\u4e2d's \u534a\u4ef7 \U0001f600", `\' OR 1=1`} {
				c, err := s.Coupons().Create(t.Context(), coupon.Coupon{
					Title: title, Total: 1, Left: 1, LimitPerUser: 1, PriceCents: 1, BeginsAt: begins, EndsAt: begins, State: coupon.Draft,
				})
				if err != nil {
					require.ErrorContains(t, err, "Incorrect string value", "it is not UTF-8, and refused")
					continue
				}
				found, err := s.Coupons().Find(t.Context(), c.ID)
				require.NoError(t, err)
				require.Equal(t, title, found[0].Title)
			}
		})
	}
}
