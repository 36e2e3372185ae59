package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The times that the instances of an environment are given: a dead instance's lock is free
// after lease, its holds are settled when they are settleAfter old.
const (
	txTimeout   = 700 * time.Millisecond
	lease       = 1400 * time.Millisecond
	settleAfter = time.Second
	workEvery   = 250 * time.Millisecond
	payWithin   = 600 * time.Millisecond  // on an expiring environment
	longBudget  = 2400 * time.Millisecond // of a transaction on a patient environment, where the server gives up a row after 1 s
	paused      = 1800 * time.Millisecond
	queueWait   = 5 * time.Second // longer than an entry of a stopped instance waits until it is claimed

	lotteryWindow = 2 * time.Second // in which the first part of the crowd has come
)

// environ is the configuration of the fleet.
func (b *environment) environ() ([]string, error) {
	cfg, err := mysql.ParseDSN(b.MariaDB.DSN(b.dbase))
	if err != nil {
		return nil, fmt.Errorf("read the DSN: %w", err)
	}
	cfg.User, cfg.Passwd = user, user
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = time.Second, time.Second, time.Second
	addrs, mode := "", "single"
	switch b.kind {
	case cluster:
		addrs, mode = strings.Join(b.nodes.Addrs(), ","), "cluster"
	case proxied:
		addrs, cfg.Addr = b.toR.Addr(), b.toDB.Addr()
	case semiSync, galera:
		addrs, cfg.Addr = b.Redis.Addr(), b.toDB.Addr()
	case plain, expiring, patient, upgraded:
		addrs = b.Redis.Addr()
	}
	budget, held, old := txTimeout, lease, settleAfter
	if b.kind == patient {
		budget, held, old, cfg.ReadTimeout = longBudget, 2*longBudget, longBudget, 2*longBudget
	}
	env := []string{
		"SECKILL_MYSQL__DSN=" + cfg.FormatDSN(), "SECKILL_REDIS__ADDRS=" + addrs, "SECKILL_REDIS__MODE=" + mode,
		"SECKILL_AUTH__SECRET=" + b.secret, "SECKILL_RATE_LIMIT__PER_USER=0", "SECKILL_HTTP__MAX_IN_FLIGHT=" + strconv.Itoa(places),
		"SECKILL_STOCK__SHARDS=" + strconv.Itoa(shards), "SECKILL_ORDER__TX_TIMEOUT=" + budget.String(), "SECKILL_LOCK__TTL=" + held.String(),
		"SECKILL_ORDER__RECONCILE_AFTER=" + old.String(), "SECKILL_ORDER__BACKGROUND_INTERVAL=" + workEvery.String(),
		"SECKILL_LOCK__BACKEND=" + b.lock, "SECKILL_ORDER__QUEUE_MAX_AGE=" + queueWait.String(),
	}
	if b.mode == Lottery {
		env = append(env, "SECKILL_ORDER__MODE="+Queue,
			"SECKILL_ORDER__QUEUE_ORDER="+Lottery, "SECKILL_ORDER__LOTTERY_WINDOW="+lotteryWindow.String())
	} else {
		env = append(env, "SECKILL_ORDER__MODE="+b.mode)
	}
	if b.kind != cluster {
		env = append(env, "SECKILL_REDIS__USERNAME="+user, "SECKILL_REDIS__PASSWORD="+user)
	}
	if b.tokens {
		env = append(env, "SECKILL_ORDER__PURCHASE_TOKEN=required", "SECKILL_ORDER__PURCHASE_TOKEN_TTL=10m")
	}
	if b.lock == unlocked {
		env = append(env, "SECKILL_ALLOW_UNSAFE_LOCK=1")
	}
	if b.kind == expiring {
		env = append(env, "SECKILL_ORDER__PAYMENT_TIMEOUT="+payWithin.String())
	}
	return env, nil
}
