package stock

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

const benchShards = 8

// A sale: a unit is reserved and confirmed, by a new user each time.
func BenchmarkReserveAndConfirm(b *testing.B) {
	s := open(b, dial(b, backends["a server"](b)), coupon.MaxStock, benchShards)
	var user atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h, err := reserve(b.Context(), s, s.claim(user.Add(1), s.request()))
			if err = errors.Join(err, confirm(b.Context(), s, h)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// The refusals, from the dearest to the one that asks nobody.
func BenchmarkReserveRefused(b *testing.B) {
	s := open(b, dial(b, backends["a server"](b)), benchShards, benchShards)
	for shard := range benchShards {
		require.NoError(b, confirm(b.Context(), s, s.buy(s.at(shard, 0))))
	}
	for name, bench := range map[string]struct {
		user int64
		want error
	}{
		"every shard seen empty": {s.at(0, 1), coupon.ErrSoldOut},
		"limit reached at home":  {s.at(0, 0), order.ErrLimitReached},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.try(bench.user); !errors.Is(err, bench.want) {
						b.Error(err)
						return
					}
				}
			})
		})
	}
	b.Run("by the flag", func(b *testing.B) {
		require.ErrorIs(b, s.try(s.at(0, 1)), coupon.ErrSoldOut)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if !s.SoldOut(s.load.CouponID, s.load.Epoch) {
					b.Error("the flag has fallen")
					return
				}
			}
		})
	})
}
