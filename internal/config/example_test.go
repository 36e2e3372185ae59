package config_test

import (
	"fmt"

	"example.com/seckill/internal/config"
)

// The environment overrides the file, and the file overrides the defaults. Here there is no
// file.
func ExampleLoad() {
	c, err := config.Load("", []string{"SECKILL_ORDER__BATCH_SIZE=1"})
	fmt.Println(c.Order.BatchSize, c.Order.Mode, err)
	// Output: 1 sync <nil>
}

// A misspelt key is refused with the one that was probably meant, never ignored.
func ExampleLoad_misspelt() {
	_, err := config.Load("", []string{"SECKILL_ORDER__BACH_SIZE=1"})
	fmt.Println(err)
	// Output: unknown variable "SECKILL_ORDER__BACH_SIZE": did you mean SECKILL_ORDER__BATCH_SIZE?
}
