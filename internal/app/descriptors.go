package app

import (
	"fmt"

	"example.com/seckill/internal/config"
)

const (
	// mostConnections is the default of http.max_connections where descriptors allow more: each
	// takes some 10 KB.
	mostConnections = 65536
	// adminConnections bounds the second listener, whose connections are counted apart.
	adminConnections = 64
	// otherDescriptors are for files, background work and what is opened for a moment.
	otherDescriptors = 64
)

// maxConnections returns how many connections the public listener may have within so many
// descriptors. It leaves those that the rest of the program needs: without them neither the
// stores nor the health checks would be reached.
func maxConnections(cfg config.Config, descriptors int) (int, error) {
	needs := storeDescriptors(cfg) + adminConnections + otherDescriptors
	free := descriptors - needs
	if free < 1 || cfg.HTTP.MaxConnections > free {
		return 0, Usage(fmt.Errorf("http.max_connections: the descriptor limit is %d, and stores and health checks need %d: "+
			"raise it (ulimit -n), or set less here or in mysql.max_open and redis.pool_size", descriptors, needs))
	}
	if cfg.HTTP.MaxConnections > 0 {
		return cfg.HTTP.MaxConnections, nil
	}
	return min(free, mostConnections), nil
}

// storeDescriptors returns how many connections to its stores an instance may have.
func storeDescriptors(cfg config.Config) int {
	perServer := cfg.Redis.PoolSize
	if cfg.Embedded() {
		return 2 * perServer // both ends are here, and the database is a file
	}
	return connections(cfg) + perServer*(len(cfg.Redis.Addrs)+len(cfg.Lock.Addrs))
}

// perAddress returns http.max_connections_per_address, or its default within so many connections.
func perAddress(cfg config.HTTP, connections int) int {
	if cfg.MaxConnectionsPerAddress > 0 {
		return cfg.MaxConnectionsPerAddress
	}
	return max(1, connections/4)
}
