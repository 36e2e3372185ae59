// Package config describes every key that can be set, reads the file and the environment,
// and validates the result.
//
// The package opens no connection. A configuration that it returns is complete, within its limits and
// free of contradictions, but its servers may be down.
//
//	defaults ─▶ one YAML file ─▶ SECKILL_… variables ─▶ Validate ─▶ Config
//	  struct      unknown keys,     unknown names,       limits,
//	              duplicates        wrong types          contradictions
//
// The package reports all errors together, one line for each. A line names the key and never its value,
// because a value may be a password.
package config

import "time"

// Config holds every key that you can set. The key tags are the names in the file. The tags min and max bound a
// number, a ratio or a duration, and oneof lists the allowed words of a string. A duration is never below its min. So
// no duration can be zero or negative unless its min allows it.
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

	ID        ID        `key:"id"`
	RateLimit RateLimit `key:"rate_limit"`
	Log       Log       `key:"log"`
	Otel      Otel      `key:"otel"`

	// AllowUnsafeLock permits lock.backend none. Only the variable SECKILL_ALLOW_UNSAFE_LOCK=1 sets it. No file
	// can set it, so you cannot ship it by mistake.
	AllowUnsafeLock bool `key:"-"`
	// AllowWrongDesign permits a design that is wrong on purpose. Only the variable SECKILL_ALLOW_WRONG_DESIGN=1 sets
	// it, as for AllowUnsafeLock.
	AllowWrongDesign bool `key:"-"`
}

// HTTP configures the public listener.
type HTTP struct {
	Addr            string        `key:"addr"`                                 // host:port
	ReadTimeout     time.Duration `key:"read_timeout" min:"1ms" max:"10m"`     // reading one request
	WriteTimeout    time.Duration `key:"write_timeout" min:"1ms" max:"10m"`    // one response, except event streams
	IdleTimeout     time.Duration `key:"idle_timeout" min:"1ms" max:"1h"`      // a connection without a request
	RequestTimeout  time.Duration `key:"request_timeout" min:"1ms" max:"10m"`  // the deadline of one request
	ShutdownTimeout time.Duration `key:"shutdown_timeout" min:"1ms" max:"10m"` // for in-flight requests at shutdown
	DrainDelay      time.Duration `key:"drain_delay" min:"0s" max:"10m"`       // from not ready to no new connections
	MaxInFlight     int           `key:"max_in_flight" min:"1" max:"1000000"`  // concurrent requests; others are shed
	MaxStreams      int           `key:"max_streams" min:"1" max:"1000000"`    // concurrent event streams

	MaxStreamsPerAddress     int `key:"max_streams_per_address" min:"0" max:"1000000"`     // 0 = all of max_streams
	MaxConnections           int `key:"max_connections" min:"0" max:"1000000"`             // 0 = limit of descriptors
	MaxConnectionsPerAddress int `key:"max_connections_per_address" min:"0" max:"1000000"` // 0 = max_connections / 4

	TrustedProxies []string `key:"trusted_proxies"` // CIDRs whose X-Forwarded-For the server trusts
	Hosts          []string `key:"hosts"`           // names that a listener on loopback answers to as well

	TLSCert string `key:"tls_cert"` // file, reloaded; empty = no TLS
	TLSKey  string `key:"tls_key"`  // file, reloaded
}

// Admin configures the second listener. It serves health, metrics and profiles, and the administrator's routes if
// they are not public.
type Admin struct {
	Addr string `key:"addr"` // host:port
	TLS  bool   `key:"tls"`  // with the certificate of the public listener
	// ServeAPI moves the administrator's routes from the public listener to this one.
	ServeAPI bool `key:"serve_api"`
}

// MySQL configures the database. An empty DSN selects the embedded database.
type MySQL struct {
	DSN         Secret        `key:"dsn"`                             // holds a password, so it is hidden
	MaxOpen     int           `key:"max_open" min:"1" max:"65536"`    // connections
	MaxIdle     int           `key:"max_idle" min:"1" max:"65536"`    // connections
	MaxLifetime time.Duration `key:"max_lifetime" min:"1s" max:"24h"` // of one connection

	ClientTLS
}

// ClientTLS configures how the program verifies servers, and which certificate it presents to them.
type ClientTLS struct {
	TLS           bool   `key:"tls"`
	TLSCA         string `key:"tls_ca"`          // file; empty = the system's authorities
	TLSServerName string `key:"tls_server_name"` // empty = the host of each address, or of the DSN
	TLSCert       string `key:"tls_cert"`        // file of the client certificate
	TLSKey        string `key:"tls_key"`         // file
}

// Redis configures the server of the stock and the locks. No addresses select the embedded Redis.
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

// Auth configures the authentication of clients.
type Auth struct {
	Secret          Secret        `key:"secret"`                             // signs the tokens, at least 32 bytes
	KeyID           string        `key:"key_id"`                             // kid of auth.secret
	OldSecrets      Secret        `key:"old_secrets"`                        // KID:SECRET, …, only for verification
	JWKSFile        string        `key:"jwks_file"`                          // public keys, reloaded
	Issuer          string        `key:"issuer"`                             // required value of iss
	Audience        string        `key:"audience"`                           // required member of aud
	MaxTokenTTL     time.Duration `key:"max_token_ttl" min:"1s" max:"8760h"` // the longest life of any token
	DeniedUsersFile string        `key:"denied_users_file"`                  // one user id per line, reloaded

	DemoLogin  bool          `key:"demo_login"`                     // POST /sessions for every user
	DemoPublic bool          `key:"demo_public"`                    // allows embedded stores on a public address
	TokenTTL   time.Duration `key:"token_ttl" min:"1s" max:"8760h"` // of a token that POST /sessions issues
}

// Stock configures how the program splits a coupon's units.
type Stock struct {
	Shards     int           `key:"shards" min:"0" max:"1024"`      // counters per coupon; 0 follows its units
	RefusalTTL time.Duration `key:"refusal_ttl" min:"1ms" max:"1s"` // maximum age of a cached refusal
}

// Coupon configures the local cache of the coupons.
type Coupon struct {
	CacheRefresh time.Duration `key:"cache_refresh" min:"1ms" max:"1s"` // interval between reads
}

// Lock configures the user's lock.
type Lock struct {
	Backend     string        `key:"backend" oneof:"redis redlock mysql etcd zookeeper none"`
	Addrs       []string      `key:"addrs"`                          // servers of redlock, etcd or zookeeper
	TTL         time.Duration `key:"ttl" min:"1ms" max:"10m"`        // of a lease; at least twice order.tx_timeout
	WaitTimeout time.Duration `key:"wait_timeout" min:"0s" max:"1m"` // 0 = no wait
	Fair        bool          `key:"fair"`                           // first come, first served; redis only

	NodeTimeout time.Duration `key:"node_timeout" min:"1ms" max:"10s"` // of one server of redlock

	Prefix    string `key:"prefix"`   // of etcd or zookeeper; empty = by redis.prefix
	Username  string `key:"username"` // of etcd or zookeeper
	Password  Secret `key:"password"`
	ClientTLS        // of etcd or zookeeper
}

// Order configures the order path.
type Order struct {
	BatchSize          int           `key:"batch_size" min:"1" max:"1024"` // maximum number of orders in one batch
	Mode               string        `key:"mode" oneof:"sync queue"`
	QueueCapacity      int           `key:"queue_capacity" min:"1" max:"1000000"`   // entries of one shard
	QueueMaxAge        time.Duration `key:"queue_max_age" min:"1ms" max:"20s"`      // the worker rejects an older entry
	QueueOrder         string        `key:"queue_order" oneof:"fifo lottery"`       // lottery draws the first buyers
	LotteryWindow      time.Duration `key:"lottery_window" min:"1s" max:"10m"`      // for tickets, from a sale's start
	PaymentTimeout     time.Duration `key:"payment_timeout" min:"1ms" max:"720h"`   // from pending to expired
	Cooldown           time.Duration `key:"cooldown" min:"0s" max:"24h"`            // after a cancelled or expired order
	TxTimeout          time.Duration `key:"tx_timeout" min:"1ms" max:"1m"`          // the transaction's budget
	ReconcileAfter     time.Duration `key:"reconcile_after" min:"1ms" max:"25s"`    // age at which an open hold is reconciled
	BackgroundInterval time.Duration `key:"background_interval" min:"1ms" max:"1m"` // between background passes

	PurchaseToken       string        `key:"purchase_token" oneof:"off required"`   // a token for each order
	PurchaseTokenTTL    time.Duration `key:"purchase_token_ttl" min:"1s" max:"1h"`  // life of a token
	PurchaseTokenLead   time.Duration `key:"purchase_token_lead" min:"0s" max:"1h"` // from the first token to the sale
	PurchaseTokenSecret Secret        `key:"purchase_token_secret"`                 // signs them; empty = auth.secret
	VerifyURL           string        `key:"verify_url"`                            // called before a token is issued
}

// Admission limits the number of concurrent orders and the number of waiting requests.
type Admission struct {
	MaxConcurrent int           `key:"max_concurrent" min:"1" max:"100000"` // concurrent orders
	MaxWaiting    int           `key:"max_waiting" min:"0" max:"1000000"`   // waiting requests; others are rejected
	MaxWait       time.Duration `key:"max_wait" min:"0s" max:"1m"`          // of one request
}

// ID configures the generator of order ids.
type ID struct {
	Generator string `key:"generator" oneof:"snowflake daily"`
}

// RateLimit limits the requests of one client, in requests per second; 0 = no limit.
type RateLimit struct {
	PerUser int `key:"per_user" min:"0" max:"1000000"` // orders, payments and reads of one user
	Burst   int `key:"burst" min:"1" max:"1000000"`    // size of a burst of requests, of a user and of logins
	Logins  int `key:"logins" min:"0" max:"1000000"`   // POST /sessions from one address

	PerAddress  int  `key:"per_address" min:"0" max:"1000000"` // all requests from one address
	PerInstance bool `key:"per_instance"`                      // per instance, not for all instances together
}

// Log configures the log on standard error.
type Log struct {
	Level  string `key:"level" oneof:"debug info warn error"`
	Format string `key:"format" oneof:"auto json text"` // auto: text on a terminal, JSON elsewhere
}

// Otel configures the traces of OpenTelemetry. They are off unless Endpoint is set or KeepTraces is above 0.
type Otel struct {
	Endpoint    string  `key:"endpoint"`                         // URL of a collector, OTLP over HTTP; "" = send nothing
	SampleRatio float64 `key:"sample_ratio" min:"0" max:"1"`     // share of traced requests; 0 = those that ask
	KeepTraces  int     `key:"keep_traces" min:"0" max:"100000"` // number of traces kept for their buyers
}

// Default returns the configuration of a program without a file and variables: embedded stores on loopback
// addresses. It passes Validate.
func Default() Config {
	return Config{
		HTTP: HTTP{
			Addr:            "127.0.0.1:8080",
			ReadTimeout:     5 * time.Second,
			WriteTimeout:    15 * time.Second,
			IdleTimeout:     100 * time.Second, // Go and Traefik keep an idle connection for 90 s
			RequestTimeout:  3 * time.Second,
			ShutdownTimeout: 15 * time.Second,
			DrainDelay:      6 * time.Second,
			MaxInFlight:     24576,
			MaxStreams:      1024,
			TrustedProxies:  []string{},
			Hosts:           []string{},

			MaxStreamsPerAddress: 32,
		},
		Admin: Admin{Addr: "127.0.0.1:6060"},
		MySQL: MySQL{MaxOpen: 64, MaxIdle: 64, MaxLifetime: 5 * time.Minute},
		Redis: Redis{
			Addrs:       []string{},
			Mode:        "single",
			Prefix:      usualPrefix,
			PoolSize:    64,
			Timeout:     500 * time.Millisecond,
			DialTimeout: time.Second,
		},
		Auth:   Auth{TokenTTL: time.Hour, MaxTokenTTL: 720 * time.Hour},
		Stock:  Stock{RefusalTTL: time.Second},
		Coupon: Coupon{CacheRefresh: 500 * time.Millisecond},
		Lock:   Lock{Backend: "redis", Addrs: []string{}, TTL: 10 * time.Second, NodeTimeout: usualNodeTimeout},
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

			PurchaseToken:     "off",
			PurchaseTokenTTL:  time.Minute,
			PurchaseTokenLead: 10 * time.Second,
		},
		Admission: Admission{MaxConcurrent: 1024, MaxWaiting: 16384, MaxWait: time.Second},

		ID:        ID{Generator: "snowflake"},
		RateLimit: RateLimit{PerUser: 20, Burst: 40, Logins: 100},
		Log:       Log{Level: "info", Format: "auto"},
		Otel:      Otel{SampleRatio: 1},
	}
}
