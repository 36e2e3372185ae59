package config_test

import (
	"fmt"

	"seckill/internal/config"
)

// The environment overrides the file, and the file overrides the defaults. Here there is no
// file.
func ExampleLoad() {
	c, err := config.Load("", []string{"SECKILL_ORDER__COMMIT=single"})
	fmt.Println(c.Order.Commit, c.Order.Mode, err)
	// Output: single sync <nil>
}

// A misspelt key is refused with the one that was probably meant, never ignored.
func ExampleLoad_misspelt() {
	_, err := config.Load("", []string{"SECKILL_ORDER__COMIT=single"})
	fmt.Println(err)
	// Output: unknown variable "SECKILL_ORDER__COMIT": did you mean SECKILL_ORDER__COMMIT?
}
