package config

import "github.com/go-sql-driver/mysql"

// checkTLS refuses keys of TLS that contradict each other, or that would be without effect: what was
// meant to be encrypted must not go out as it is.
func (c Config) checkTLS(wrong *problems) {
	checkPair(wrong, "http", c.HTTP.TLSCert, c.HTTP.TLSKey)
	if c.Admin.TLS && c.HTTP.TLSCert == "" {
		wrong.add("admin.tls has no certificate: set http.tls_cert and http.tls_key, which both listeners use", "admin.tls", "http.tls_cert")
	}
	for _, of := range []struct {
		section string
		ClientTLS
	}{{"redis", c.Redis.ClientTLS}, {"mysql", c.MySQL.ClientTLS}, {"lock", c.Lock.ClientTLS}} {
		checkPair(wrong, of.section, of.TLSCert, of.TLSKey)
		for _, one := range []struct{ key, value string }{{"tls_ca", of.TLSCA}, {"tls_server_name", of.TLSServerName}, {"tls_cert", of.TLSCert}} {
			if one.value != "" && !of.TLS {
				wrong.add(of.section+"."+one.key+" is without effect: set "+of.section+".tls to true, or leave it out",
					of.section+"."+one.key, of.section+".tls")
			}
		}
	}
	if c.Embedded() && c.Redis.TLS {
		wrong.add("redis.tls is for a Redis of your own: set redis.addrs and mysql.dsn, or leave it out", "redis.tls", "redis.addrs")
	}
	c.checkMySQLTLS(wrong)
	if c.Lock.Backend != "etcd" && c.Lock.Backend != "zookeeper" {
		if c.Lock.TLS || c.Lock.Username != "" || c.Lock.Password != "" {
			wrong.add("lock.tls, lock.username and lock.password are for lock.backend etcd or zookeeper: the others use those of redis or mysql",
				"lock.tls", "lock.username", "lock.password", "lock.backend")
		}
	} else if (c.Lock.Username == "") != (c.Lock.Password == "") {
		wrong.add("lock.username and lock.password belong together: set both, or neither", "lock.username", "lock.password")
	}
}

func checkPair(wrong *problems, section, cert, key string) {
	if (cert == "") != (key == "") {
		wrong.add(section+".tls_cert and "+section+".tls_key belong together: set both, or neither", section+".tls_cert", section+".tls_key")
	}
}

func (c Config) checkMySQLTLS(wrong *problems) {
	if !c.MySQL.TLS {
		return
	}
	if c.Embedded() {
		wrong.add("mysql.tls is for a database of your own: set mysql.dsn and redis.addrs, or leave it out", "mysql.tls", "mysql.dsn")
		return
	}
	dsn, err := mysql.ParseDSN(c.MySQL.DSN.Reveal())
	if err == nil && dsn.TLSConfig != "" {
		wrong.add("mysql.dsn must not have tls beside mysql.tls: remove it there", "mysql.dsn", "mysql.tls")
	}
}
