package admission_test

import (
	"context"
	"fmt"

	"example.com/seckill/internal/admission"
)

// A request that finds every permit taken and no place to wait is refused, before
// it costs the stores anything.
func ExampleAdmission_Admit() {
	ctx := context.Background()
	a := admission.New(admission.Options{MinConcurrent: 1, MaxConcurrent: 1})

	release, err := a.Admit(ctx)
	fmt.Println("first:", err)

	_, err = a.Admit(ctx)
	fmt.Println("second:", err)

	release(true) // an order was placed: its latency counts
	release, err = a.Admit(ctx)
	fmt.Println("third:", err)
	release(false) // no order was placed
	// Output:
	// first: <nil>
	// second: order: too many at once: full
	// third: <nil>
}
