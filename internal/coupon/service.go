package coupon

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Repository stores coupons.
type Repository interface {
	// Create stores c as a draft and assigns its id.
	Create(ctx context.Context, c Coupon) (Coupon, error)
	// Find reads the coupons with these ids, without those that do not exist.
	Find(ctx context.Context, ids ...int64) ([]Coupon, error)
	// List reads up to limit coupons with an id above after, by id.
	List(ctx context.Context, after int64, limit int) ([]Coupon, error)
	// Change reads the coupon, calls change and writes the result, in one transaction that
	// excludes every other change of the coupon.
	Change(ctx context.Context, id int64, change func(*Coupon) error) (Coupon, error)
}

// Loader begins epochs: it is the database's half of a publication.
type Loader interface {
	// NextEpoch begins a new epoch over this number of shards and records that the coupon is
	// Loading, and on sale if that is to follow. When it returns, no order of an
	// older epoch can be committed any more, and the Load has the units that are left.
	// ErrConflict if the coupon has ended or is not in the epoch seen.
	NextEpoch(ctx context.Context, id, seen int64, shards int, then AfterLoad) (Load, error)
	// Resume reads what the loading of an epoch began with. ErrConflict if it is not
	// being loaded, or is Opening.
	Resume(ctx context.Context, id, epoch int64) (Load, error)
	// Buyers reads a page of the buyers with ids above after, as of the epoch's begin.
	// It is asked while the epoch is loaded; a Page that comes through no further is after the last.
	Buyers(ctx context.Context, id, epoch, after int64) (Page, error)
	// Heartbeat records that the database's history goes on, and returns whose it is. If the
	// rows are older than what Redis knows, or on another server than before, it ends every
	// epoch first. ErrOtherDeployment if another database is using this Redis.
	Heartbeat(ctx context.Context, known Owner) (Owner, error)
	// Loaded lists the coupons whose stock is, or should be, in the shards: not those that at
	// now ended more than Retention ago.
	Loaded(ctx context.Context, now time.Time) ([]Coupon, error)
	// Freeable lists up to limit coupons that still have shards although at now they ended
	// Retention ago or earlier, or were ended by hand with an end in the future.
	Freeable(ctx context.Context, now time.Time, limit int) ([]Coupon, error)
}

// AfterLoad says how a loading changes the state of the coupon.
type AfterLoad bool

// The values of AfterLoad.
const (
	KeepState AfterLoad = false // a draft stays a draft, a paused coupon paused
	PutOnSale AfterLoad = true
)

// Load is the content of the shards when an epoch opens.
type Load struct {
	CouponID int64
	Epoch    int64
	Shards   int
	Units    int64 // left to sell when the epoch began, to be split over the shards
	// Buyers reads the page after a user; nil: there are none.
	Buyers func(ctx context.Context, after int64) (Page, error)
}

// Owner is the database that Redis is loaded from.
type Owner struct {
	Deployment string // its id, made by the first migration
	Server     string // which keeps it
	Mark       int64  // grows with each heartbeat
	Alive      bool   // of what Redis knows: there was a heartbeat just now
}

// Page is a part of a coupon's buyers.
type Page struct {
	Buyers  []Buyer
	Through int64 // the page has every buyer up to this one; none was left if it is the one asked after
}

// Buyer is a user with live orders.
type Buyer struct {
	UserID int64
	Units  int
}

// ShardChecks are the cheap checks of the shards of many coupons.
type ShardChecks interface {
	// LoadedAll is Loaded for many coupons, in few round trips. It returns a result and an error for each. It may
	// miss a change of the servers since the last call of Servers.
	LoadedAll(ctx context.Context, all []Coupon) (loaded []bool, errs []error)
	// RaiseAll is Raise for many coupons, in few round trips. It returns an error for each.
	RaiseAll(ctx context.Context, all []Coupon) []error
	// Servers names the servers that have the shards. The name changes if one of them restarts, stops to answer or
	// loses most of its keys, or if another takes its place.
	Servers(ctx context.Context) string
	// Requested returns the coupons of which this instance was asked for a unit since the last call.
	Requested() map[int64]bool
	// Claim returns the coupons that this instance is to look at: those that no other instance has claimed within
	// that time.
	Claim(ctx context.Context, ids []int64, within time.Duration) ([]int64, error)
}

// Shards is the half of a publication that is in Redis.
type Shards interface {
	ShardChecks
	// ShardsFor returns how many shards a coupon with that number of units needs on these servers, from 1 upwards.
	ShardsFor(ctx context.Context, units int64) int
	// Fill puts an epoch's stock and buyers into the shards, which stay closed. It resumes a
	// filling that was cut off, on this instance or another. ErrConflict, and no change, if
	// the shards have a newer epoch.
	Fill(ctx context.Context, l Load) error
	// Open opens every shard that was filled; of those that are open already it
	// changes nothing. ErrPartiallyLoaded if one is neither.
	Open(ctx context.Context, l Load) error
	// Owner returns the database of the last heartbeat, and SetOwner records a heartbeat.
	Owner(ctx context.Context) (Owner, error)
	SetOwner(ctx context.Context, o Owner) error
	// Loaded reports whether every shard holds the epoch, on the server that it was loaded
	// on: another one, or the same after a restart, may have older data. It returns an error
	// if one of them does not answer.
	Loaded(ctx context.Context, id, epoch int64, shards int) (bool, error)
	// Raise adds units to open shards. raised counts the units that were added since the epoch began;
	// each shard has its share of them, and gets none twice. ErrNotLoaded if a shard is not open with
	// the epoch.
	Raise(ctx context.Context, id, epoch int64, shards int, raised int64) error
	// Remaining reads the units in each shard.
	Remaining(ctx context.Context, id int64, shards int) ([]int64, error)
	// Free drops the shards of the coupon that are of the given epoch or an older one, and
	// returns how many.
	Free(ctx context.Context, id, epoch int64) (int, error)
}

// Announcer tells every instance that a coupon has changed.
type Announcer interface {
	AnnounceChange(ctx context.Context, id int64) error
}

// Exclusive runs work while no other instance runs work for the same coupon.
type Exclusive func(ctx context.Context, id int64, work func(context.Context) error) error

// Service is the coupon service: it publishes, changes and shows coupons.
type Service struct {
	repo       Repository
	loader     Loader
	shards     Shards
	announce   Announcer
	exclusive  Exclusive
	cache      *Cache
	shardCount int
	now        func() time.Time
	log        *slog.Logger

	onHeartbeat   func(err error)
	lastHeartbeat atomic.Int64 // when it succeeded, in nanoseconds
	beforePublish func(ctx context.Context, id int64) error
}

// Deps are the parts that a Service depends on.
type Deps struct {
	Repository Repository
	Loader     Loader
	Shards     Shards
	Announcer  Announcer
	Exclusive  Exclusive
	Cache      *Cache
	ShardCount int              // shards of a new publication; 0 asks Shards
	Now        func() time.Time // nil is time.Now
	Log        *slog.Logger     // nil is slog.Default

	OnHeartbeat func(err error) // receives the result of each Heartbeat; may be nil
	// BeforePublish is called with each coupon that is about to go on sale. An error ends the publication. It may be
	// nil. It may be called again for a coupon that is on sale.
	BeforePublish func(ctx context.Context, id int64) error
}

// NewService returns the coupon service.
func NewService(p Deps) *Service {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
	if p.OnHeartbeat == nil {
		p.OnHeartbeat = func(error) {}
	}
	if p.BeforePublish == nil {
		p.BeforePublish = func(context.Context, int64) error { return nil }
	}
	return &Service{
		repo: p.Repository, loader: p.Loader, shards: p.Shards, announce: p.Announcer,
		exclusive: p.Exclusive, cache: p.Cache, shardCount: p.ShardCount, now: p.Now, log: p.Log,
		onHeartbeat: p.OnHeartbeat, beforePublish: p.BeforePublish,
	}
}

// Create stores a new draft. It sets the state, the epoch and the units left, whatever c has.
func (s *Service) Create(ctx context.Context, c Coupon) (Coupon, error) {
	c.ID, c.State, c.Left, c.Epoch, c.Shards = 0, Draft, c.Total, 0, 0
	if err := c.Validate(); err != nil {
		return Coupon{}, err
	}
	c, err := s.repo.Create(ctx, c)
	if err == nil {
		s.cache.Invalidate(c.ID) // a reader may have missed it before it was there
	}
	return c, err
}

// Get returns a coupon as anyone may see it, as of the last refresh; ErrNotFound if there is
// none or it is a draft.
func (s *Service) Get(ctx context.Context, id int64) (Coupon, error) {
	c, err := s.cache.Get(ctx, id)
	if err == nil && c.State == Draft {
		return Coupon{}, ErrNotFound
	}
	return c, err
}

// List returns up to limit coupons with an id above after, by id, as anyone may see them.
func (s *Service) List(ctx context.Context, after int64, limit int) ([]Coupon, error) {
	return s.cache.List(ctx, after, limit)
}

// Read reads a coupon as the database has it, a draft too; ErrNotFound if there is none.
func (s *Service) Read(ctx context.Context, id int64) (Coupon, error) {
	return s.cache.Fetch(ctx, id)
}

// ReadAll reads up to limit coupons with an id above after, by id, drafts too.
func (s *Service) ReadAll(ctx context.Context, after int64, limit int) ([]Coupon, error) {
	return s.repo.List(ctx, after, limit)
}

// Pause closes the sale until the next publication, and also wins over one in progress. It is
// idempotent.
func (s *Service) Pause(ctx context.Context, id int64) (Coupon, error) {
	c, err := s.repo.Change(ctx, id, func(c *Coupon) error {
		switch c.State {
		case OnSale, Paused:
			c.State = Paused
			return nil
		default:
			return fmt.Errorf("%w: a coupon that is %s cannot be paused", ErrConflict, c.State)
		}
	})
	if err != nil {
		return Coupon{}, err
	}
	s.changed(ctx, id)
	return c, nil
}

// changed makes a change known, here at once and to other instances by a message. Without the
// message they learn of it at their cache's next refresh.
func (s *Service) changed(ctx context.Context, id int64) {
	s.cache.Invalidate(id)
	if err := s.announce.AnnounceChange(context.WithoutCancel(ctx), id); err != nil {
		s.log.WarnContext(ctx, "coupon change not announced", "coupon", id, "error", err)
	}
}
