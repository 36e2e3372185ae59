package order

import (
	"context"
	"slices"
)

// Step is a step of place.go that hooks are called around.
type Step string

// The steps, in their order. StepWork is inside StepLock, and StepCommit inside StepWork.
const (
	StepReserve Step = "reserve"
	StepLock    Step = "lock" // from the request for the locks until they are released
	StepWork    Step = "work" // the locks are held
	StepCommit  Step = "commit"
	StepConfirm Step = "confirm"
	StepRelease Step = "release"
)

// Hook is called around each step, with all attempts that take the step together. It calls do once, or lets the step
// fail without do. After do, Err of each attempt is the outcome of the step, and HoldErr is that of StepConfirm and
// StepRelease. A hook may set them, as if the reply of the step was lost. The context goes to the inner hooks, and to
// the steps inside the step.
type Hook func(ctx context.Context, step Step, all []*Attempt, do func(ctx context.Context))

// step does a step inside the hooks, of which the first is the outermost. Without attempts there is no step.
func (s *Service) step(ctx context.Context, step Step, all attempts, do func(ctx context.Context)) {
	if len(all) == 0 {
		return
	}
	for _, hook := range slices.Backward(s.hooks) {
		inner := do
		do = func(ctx context.Context) { hook(ctx, step, all, inner) }
	}
	do(ctx)
}
