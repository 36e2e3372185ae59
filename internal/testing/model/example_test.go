package model_test

import (
	"os"

	"example.com/seckill/internal/testing/model"
)

// A hold that runs out by itself takes its unit with it.
func ExampleExplore() {
	sale := model.Sale{
		Units: 1, Limit: 1, Reconcilers: 1, Without: model.ExpiringHolds,
		Wishes: []model.Wish{{User: 0, Key: 'a'}},
	}
	sale.Write(os.Stdout, model.Explore(&sale))
	// Output:
	//                                                          D  A   shards   h  G
	//   0   the sale begins                                     1  0    1 + 0   0  0
	//   1   user 1, key a: asks: the sale is read → on sale     1  0    1 + 0   0  0
	//   2   user 1, key a: RESERVE at home → HELD               1  0    0 + 0   1  0
	//   3   Redis: lets a hold at shard 0 expire                1  0    0 + 0   0  0
	// violated: I4 (R + h + G + A = T, while Redis has lost nothing)
}
