package stock

import (
	"context"
	"fmt"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// ownerKey holds which database the shards are loaded from.
const ownerKey = "{fleet}:owner"

// ownerTTL is how long a heartbeat counts: longer than a database in use is away while another
// server takes its place.
const ownerTTL = 10 * time.Second

var ownerScript = lua("owner", 1)

// Owner returns the database whose heartbeat was the last here. One that has been silent for some
// seconds is not Alive.
func (s *Stock) Owner(ctx context.Context) (coupon.Owner, error) { return s.owner(ctx) }

// SetOwner records a heartbeat of the database.
func (s *Stock) SetOwner(ctx context.Context, o coupon.Owner) error {
	_, err := s.owner(ctx, o.Deployment, o.Server, o.Mark)
	if err == nil {
		s.deployment.Store(o.Deployment)
	}
	return err
}

var disownScript = lua("disown", 2)

// ReleaseOwnership frees this Redis for another database at once, when the instance with that name stops. If other
// instances go on, it does nothing: another database would win the time until their next heartbeat, and close their
// sales.
func (s *Stock) ReleaseOwnership(ctx context.Context, instance string) error {
	keys := []string{s.prefix + ownerKey, s.prefix + instancesKey}
	if err := disownScript.Run(ctx, s.client, keys, instance, heartbeatTTL.Milliseconds()).Err(); err != nil {
		return fmt.Errorf("%w: disown Redis: %w", order.ErrUnavailable, err)
	}
	return nil
}

// deploymentID returns the id of the deployment whose database the shards are loaded from; empty
// before the first heartbeat.
func (s *Stock) deploymentID() string {
	id, _ := s.deployment.Load().(string)
	return id
}

func (s *Stock) owner(ctx context.Context, set ...any) (coupon.Owner, error) {
	args := append([]any{ownerTTL.Milliseconds()}, set...)
	answer, err := ownerScript.Run(ctx, s.client, []string{s.prefix + ownerKey}, args...).StringSlice()
	if err == nil && len(answer) != 4 {
		err = fmt.Errorf("an answer of %d parts", len(answer))
	}
	if err != nil {
		return coupon.Owner{}, fmt.Errorf("%w: whose Redis this is: %w", order.ErrUnavailable, err)
	}
	var p parser
	o := coupon.Owner{Deployment: answer[0], Server: answer[1], Mark: p.number(answer[2]), Alive: answer[3] != ""}
	if p.err != nil {
		return coupon.Owner{}, fmt.Errorf("whose Redis this is: %w", p.err)
	}
	return o, nil
}
