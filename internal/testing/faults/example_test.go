package faults_test

import (
	"fmt"

	"example.com/seckill/internal/testing/faults"
)

// A fault is a point of the order path, an action, and the pass at which it strikes.
func ExampleParse() {
	all, err := faults.Parse("commit.after:kill:17,reserve.after:lose:3/10")
	if err != nil {
		panic(err)
	}
	for _, f := range all {
		fmt.Println(f.Point, f.Action, "at pass", f.Nth)
	}

	_, err = faults.Parse("commit.after:explode:1")
	fmt.Println(err)
	// Output:
	// commit.after kill at pass 17
	// reserve.after lose at pass 3
	// fault "commit.after:explode:1": the action is kill, stop, lose or delay
}
