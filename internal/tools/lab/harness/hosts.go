package harness

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/tools/servers"
)

// The names of the servers.
var (
	EmbeddedRedis  = NewText("the embedded Redis (miniredis)", "内嵌的 Redis（miniredis）")
	privateRedis   = NewText("a private Redis", "私有的 Redis")
	privateMariaDB = NewText("a private MariaDB", "私有的 MariaDB")
	ownRedis       = NewText("Redis servers of its own", "自己的若干 Redis")
)

func redisAt(addr string) Text { return NewText("Redis at "+addr, addr+" 上的 Redis") }

func databaseAt(addr string) Text { return NewText("the database at "+addr, addr+" 上的数据库") }

// NoServerError says why an experiment has no server to run on and, where that helps, how to get
// one.
type NoServerError struct{ Why Text }

func (e *NoServerError) Error() string { return "no server: " + e.Why.EN }

var (
	errNotEmbedded = &NoServerError{NewText("the embedded Redis cannot show it", "内嵌的 Redis 演示不了它")}
	errNoRowLocks  = &NoServerError{NewText(
		"it needs a database with row locks, and the embedded SQLite has none", "它需要有行锁的数据库，内嵌的 SQLite 没有")}
)

// missing turns the error of a program that is not installed into a *NoServerError. It
// returns any other error unchanged.
func missing(err error) error {
	m := (*servers.MissingError)(nil)
	if !errors.As(err, &m) {
		return err
	}
	zh := fmt.Sprintf("没有安装 %s：%s", m.Program, m.Install())
	if m.Install() == "" {
		zh = fmt.Sprintf("%s 上不能启动私有的 %s：用 --redis 和 --mysql 指定别处的服务器，或使用 --embedded、--recorded", runtime.GOOS, m.Program)
	}
	return &NoServerError{NewText(m.Error(), zh)}
}

// Hosts returns what an experiment with these needs would run on. It starts nothing. If
// the experiment could not run, the error is a *NoServerError that lists all it lacks.
func (c Config) Hosts(needs []Server) ([]Text, error) {
	var on, lacks []Text
	for _, n := range needs {
		host, err := c.host(n)
		if none := (*NoServerError)(nil); errors.As(err, &none) {
			if !slices.Contains(lacks, none.Why) {
				lacks = append(lacks, none.Why)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if host != (Text{}) {
			on = append(on, host)
		}
	}
	if len(lacks) == 0 {
		return on, nil
	}
	why := lacks[0]
	for _, more := range lacks[1:] {
		why = NewText(why.EN+"; "+more.EN, why.ZH+"；"+more.ZH)
	}
	return nil, &NoServerError{why}
}

func (c Config) host(n Server) (Text, error) {
	switch n {
	case Redis, RealRedis:
		return c.redisHost(n == RealRedis)
	case OwnRedis:
		return c.ownRedisHost()
	case Database:
		return c.databaseHost()
	case Process:
	}
	return Text{}, nil
}

func (c Config) redisHost(isReal bool) (Text, error) {
	switch {
	case c.Embedded && isReal:
		return Text{}, errNotEmbedded
	case c.Embedded:
		return EmbeddedRedis, nil
	case c.Redis != "":
		return redisAt(c.Redis), nil
	}
	err := missing(servers.LookRedis())
	switch {
	case err == nil:
		return privateRedis, nil
	case isReal:
		return Text{}, err
	}
	return EmbeddedRedis, nil
}

func (c Config) ownRedisHost() (Text, error) {
	if c.Embedded {
		return Text{}, errNotEmbedded
	}
	return ownRedis, missing(servers.LookRedis())
}

func (c Config) databaseHost() (Text, error) {
	switch {
	case c.Embedded:
		return Text{}, errNoRowLocks
	case c.MySQL != "":
		dsn, err := mysql.ParseDSN(c.MySQL)
		if err != nil {
			return Text{}, errBadDSN
		}
		return databaseAt(dsn.Addr), nil
	}
	return privateMariaDB, missing(servers.LookMariaDB())
}
