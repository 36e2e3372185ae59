// Package config describes every key that can be set, reads the file and the environment,
// and validates the result.
//
// It opens nothing: a configuration that it returns is complete, within its limits and
// free of contradictions, but its servers may be down.
//
//	defaults ─▶ one YAML file ─▶ SECKILL_… variables ─▶ Validate ─▶ Config
//	  struct      unknown keys,     unknown names,       limits,
//	              duplicates        wrong types          contradictions
//
// Everything that is wrong is reported together, one line each, naming the key
// and never its value: a value may be a password.
package config

import "time"

// Config is everything that can be set. The key tags are the names in the
// file; min and max bound a number or a duration, oneof lists the words a
// string may be. A duration is never below its min, so none can be zero or
// negative unless its min says so.
type Config struct {
	HTTP   HTTP   `key:"http"`
	Admin  Admin  `key:"admin"`
	MySQL  MySQL  `key:"mysql"`
	Redis  Redis  `key:"redis"`
	Auth   Auth   `key:"auth"`
	Stock  Stock  `key:"stock"`
	Coupon Coupon `key:"coupon"`
	Lock   Lock   `key:"lock"`
	Order  Order  `key:"order"`

	Admission Admission `key:"admission"`

	ID   ID   `key:"id"`
	Rate Rate `key:"rate"`
	Log  Log  `key:"log"`
	Otel Otel `key:"otel"`

	// AllowUnsafeLock permits lock.backend none. It is set by the variable
	// SECKILL_ALLOW_UNSAFE_LOCK=1 and by no file, so that it is not shipped by mistake.
	AllowUnsafeLock bool `key:"-"`
}

// HTTP is the public listener.
type HTTP struct {
	Addr            string        `key:"addr"`                                 // host:port
	ReadTimeout     time.Duration `key:"read_timeout" min:"1ms" max:"10m"`     // reading one request
	WriteTimeout    time.Duration `key:"write_timeout" min:"1ms" max:"10m"`    // writing one response, event streams apart
	IdleTimeout     time.Duration `key:"idle_timeout" min:"1ms" max:"1h"`      // a connection without a request
	RequestTimeout  time.Duration `key:"request_timeout" min:"1ms" max:"10m"`  // the deadline of one request
	ShutdownTimeout time.Duration `key:"shutdown_timeout" min:"1ms" max:"10m"` // in-flight requests at the end
	DrainDelay      time.Duration `key:"drain_delay" min:"0s" max:"10m"`       // from not ready to no new connections
	MaxInFlight     int           `key:"max_in_flight" min:"1" max:"1000000"`  // requests at once; the rest is shed
	MaxStreams      int           `key:"max_streams" min:"1" max:"1000000"`    // event streams at once

	MaxStreamsPerAddress     int `key:"max_streams_per_address" min:"0" max:"1000000"`     // 0 = all
	MaxConnections           int `key:"max_connections" min:"0" max:"1000000"`             // at once; 0 = what descriptors allow
	MaxConnectionsPerAddress int `key:"max_connections_per_address" min:"0" max:"1000000"` // 0 = a quarter of them

	TrustedProxies []string `key:"trusted_proxies"` // CIDRs whose X-Forwarded-For counts

	TLSCert string `key:"tls_cert"` // file, reloaded; empty is no TLS
	TLSKey  string `key:"tls_key"`  // file, reloaded
}

// Admin is the second listener: health, metrics, profiles, and the administrator's routes if they are not public.
type Admin struct {
	Addr string `key:"addr"` // host:port
	TLS  bool   `key:"tls"`  // with the certificate of the public listener
	API  bool   `key:"api"`  // the administrator's routes too, and the public listener has none of them
}

// MySQL is the database. An empty DSN means the embedded one.
type MySQL struct {
	DSN         Secret        `key:"dsn"`                             // holds a password, so it is hidden
	MaxOpen     int           `key:"max_open" min:"1" max:"65536"`    // connections
	MaxIdle     int           `key:"max_idle" min:"1" max:"65536"`    // connections
	MaxLifetime time.Duration `key:"max_lifetime" min:"1s" max:"24h"` // of one connection

	ClientTLS
}

// ClientTLS is how servers are verified, and what they are shown.
type ClientTLS struct {
	TLS           bool   `key:"tls"`
	TLSCA         string `key:"tls_ca"`          // file; empty is the system's authorities
	TLSServerName string `key:"tls_server_name"` // empty is the host of each address, or of the DSN
	TLSCert       string `key:"tls_cert"`        // file of what servers are shown
	TLSKey        string `key:"tls_key"`         // file
}

// Redis is the stock and the locks. No addresses means the embedded one.
type Redis struct {
	Addrs            []string `key:"addrs"`
	Mode             string   `key:"mode" oneof:"single sentinel cluster"`
	MasterName       string   `key:"master_name"` // sentinel only
	Username         string   `key:"username"`
	Password         Secret   `key:"password"`
	SentinelUsername string   `key:"sentinel_username"` // sentinel only
	SentinelPassword Secret   `key:"sentinel_password"` // sentinel only
	DB               int      `key:"db" min:"0" max:"65535"`
	Prefix           string   `key:"prefix"` // of all keys and channels
	ClientTLS
	PoolSize    int           `key:"pool_size" min:"1" max:"65536"`   // connections per server
	Timeout     time.Duration `key:"timeout" min:"1ms" max:"1m"`      // of one call
	DialTimeout time.Duration `key:"dial_timeout" min:"1ms" max:"1m"` // of one connection attempt
}

// Auth is the authentication of clients.
type Auth struct {
	Secret          Secret        `key:"secret"`                             // signs the tokens, at least 32 bytes
	KeyID           string        `key:"key_id"`                             // kid of auth.secret
	OldSecrets      Secret        `key:"old_secrets"`                        // KID:SECRET, … that verify and do not sign
	JWKSFile        string        `key:"jwks_file"`                          // public keys, reloaded
	Issuer          string        `key:"issuer"`                             // what iss must be
	Audience        string        `key:"audience"`                           // what aud must have
	MaxTokenTTL     time.Duration `key:"max_token_ttl" min:"1s" max:"8760h"` // the longest life of any token
	DeniedUsersFile string        `key:"denied_users_file"`                  // an id a line, reloaded

	DemoLogin bool          `key:"demo_login"`                     // POST /sessions for every user
	DemoOpen  bool          `key:"demo_open"`                      // embedded stores on a public address
	TokenTTL  time.Duration `key:"token_ttl" min:"1s" max:"8760h"` // of a token given out by POST /sessions
}

// Stock is how the units are split.
type Stock struct {
	Shards     int           `key:"shards" min:"1" max:"1024"`      // counters per coupon
	Rows       string        `key:"rows" oneof:"coupon shard"`      // how many the database keeps it in
	RefusalTTL time.Duration `key:"refusal_ttl" min:"1ms" max:"1s"` // how old what is refused without I/O may be
}

// Coupon is the local cache of what is on sale.
type Coupon struct {
	CacheRefresh time.Duration `key:"cache_refresh" min:"1ms" max:"1s"` // how often it is read again
}

// Lock is the user's lock.
type Lock struct {
	Backend string        `key:"backend" oneof:"redis redlock mysql etcd zookeeper none"`
	Addrs   []string      `key:"addrs"`                     // servers of redlock, etcd or zookeeper
	Lease   time.Duration `key:"lease" min:"1ms" max:"10m"` // at least twice order.tx_timeout
	Wait    time.Duration `key:"wait" min:"0s" max:"1m"`    // 0 = not at all
	Fair    bool          `key:"fair"`                      // first come, first served across processes; redis only

	Username  string `key:"username"` // of etcd or zookeeper
	Password  Secret `key:"password"`
	ClientTLS        // of etcd or zookeeper
}

// Order is the order path.
type Order struct {
	BatchSize          int           `key:"batch_size" min:"1" max:"1024"` // orders that are made together at most
	Mode               string        `key:"mode" oneof:"sync queue"`
	QueueCapacity      int           `key:"queue_capacity" min:"1" max:"1000000"`   // entries of one shard
	QueueMaxAge        time.Duration `key:"queue_max_age" min:"1ms" max:"20s"`      // an entry that is older is refused
	QueueOrder         string        `key:"queue_order" oneof:"fifo lottery"`       // the first buyers of a sale come first, or are drawn
	LotteryWindow      time.Duration `key:"lottery_window" min:"1s" max:"10m"`      // after the begin of a sale, in which tickets are given
	PaymentTimeout     time.Duration `key:"payment_timeout" min:"1ms" max:"720h"`   // from pending to expired
	Cooldown           time.Duration `key:"cooldown" min:"0s" max:"24h"`            // after a cancelled or expired order
	TxTimeout          time.Duration `key:"tx_timeout" min:"1ms" max:"1m"`          // the transaction's budget
	ReconcileAfter     time.Duration `key:"reconcile_after" min:"1ms" max:"25s"`    // age at which an open hold is reconciled
	BackgroundInterval time.Duration `key:"background_interval" min:"1ms" max:"1m"` // between background passes

	Token       string        `key:"token" oneof:"off required"`   // a purchase token for each order
	TokenTTL    time.Duration `key:"token_ttl" min:"1s" max:"1h"`  // it buys nothing after it
	TokenLead   time.Duration `key:"token_lead" min:"0s" max:"1h"` // before the sale
	TokenSecret Secret        `key:"token_secret"`                 // signs them; empty is auth.secret
	ProofURL    string        `key:"proof_url"`                    // asked before a token is issued
}

// Admission limits how many orders are made at once, and how many requests wait.
type Admission struct {
	MaxConcurrent int           `key:"max_concurrent" min:"1" max:"100000"` // orders at once
	MaxWaiting    int           `key:"max_waiting" min:"0" max:"1000000"`   // requests that wait; more are refused
	MaxWait       time.Duration `key:"max_wait" min:"0s" max:"1m"`          // of one request
}

// ID is how order ids are made.
type ID struct {
	Generator string `key:"generator" oneof:"snowflake daily"`
}

// Rate is what one client may ask, in requests per second; 0 is no limit.
type Rate struct {
	PerUser  int `key:"per_user" min:"0" max:"1000000"` // orders, payments and reads of one user
	Burst    int `key:"burst" min:"1" max:"1000000"`    // requests at once, of a user and of logins
	Sessions int `key:"sessions" min:"0" max:"1000000"` // POST /sessions from one address

	PerAddress  int  `key:"per_address" min:"0" max:"1000000"` // all requests from one address
	PerInstance bool `key:"per_instance"`                      // limits are of each instance, not of all together
}

// Log is what is written to standard error.
type Log struct {
	Level  string `key:"level" oneof:"debug info warn error"`
	Format string `key:"format" oneof:"auto json text"` // auto: text on a terminal, JSON elsewhere
}

// Otel is the traces of OpenTelemetry. They are off unless there is an endpoint, or some are kept.
type Otel struct {
	Endpoint string `key:"endpoint"`                     // URL of a collector, OTLP over HTTP; "" sends nothing
	Sample   int    `key:"sample" min:"0" max:"1000000"` // one of so many requests; 0 = those alone that ask
	Keep     int    `key:"keep" min:"0" max:"100000"`    // traces that are kept for their buyers
}

// Default returns the configuration of a program without a file and variables: embedded
// stores, loopback only. It passes Validate.
func Default() Config {
	return Config{
		HTTP: HTTP{
			Addr:            "127.0.0.1:8080",
			ReadTimeout:     5 * time.Second,
			WriteTimeout:    15 * time.Second,
			IdleTimeout:     100 * time.Second, // Go and Traefik keep one for 90 s
			RequestTimeout:  3 * time.Second,
			ShutdownTimeout: 15 * time.Second,
			DrainDelay:      6 * time.Second,
			MaxInFlight:     24576,
			MaxStreams:      1024,
			TrustedProxies:  []string{},

			MaxStreamsPerAddress: 32,
		},
		Admin: Admin{Addr: "127.0.0.1:6060"},
		MySQL: MySQL{MaxOpen: 64, MaxIdle: 64, MaxLifetime: 5 * time.Minute},
		Redis: Redis{
			Addrs:       []string{},
			Mode:        "single",
			Prefix:      "seckill:",
			PoolSize:    64,
			Timeout:     500 * time.Millisecond,
			DialTimeout: time.Second,
		},
		Auth:   Auth{TokenTTL: time.Hour, MaxTokenTTL: 720 * time.Hour},
		Stock:  Stock{Shards: 8, Rows: "coupon", RefusalTTL: time.Second},
		Coupon: Coupon{CacheRefresh: 500 * time.Millisecond},
		Lock:   Lock{Backend: "redis", Addrs: []string{}, Lease: 10 * time.Second},
		Order: Order{
			BatchSize:          256,
			Mode:               "sync",
			QueueCapacity:      2000,
			QueueMaxAge:        15 * time.Second,
			QueueOrder:         "fifo",
			LotteryWindow:      10 * time.Second,
			PaymentTimeout:     15 * time.Minute,
			TxTimeout:          2 * time.Second,
			ReconcileAfter:     10 * time.Second,
			BackgroundInterval: time.Second,
			Token:              "off",
			TokenTTL:           time.Minute,
			TokenLead:          10 * time.Second,
		},
		Admission: Admission{MaxConcurrent: 1024, MaxWaiting: 16384, MaxWait: time.Second},

		ID:   ID{Generator: "snowflake"},
		Rate: Rate{PerUser: 20, Burst: 40, Sessions: 100},
		Log:  Log{Level: "info", Format: "auto"},
		Otel: Otel{Sample: 1},
	}
}
