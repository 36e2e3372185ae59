package config

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// links recognizes the variables that an orchestrator sets for a service or container whose name
// begins with "seckill". Kubernetes sets SECKILL_PORT=tcp://10.0.0.7:8080 and others in each pod of a
// namespace that has a Service "seckill". Docker sets more for `--link`. No operator wrote them, so
// they are not mistakes. The value must fit the name: SECKILL_PORT=8080 is still an error.
type links struct {
	aliases []string // of the containers that Docker has linked, each as SECKILL_DB
}

// linkVariables are the names of Kubernetes and Docker without the name of the service, and the
// values that fit them.
var linkVariables = []struct {
	name *regexp.Regexp
	fits func(value string) bool
}{
	{linkName(`SERVICE_HOST`), isAddress},
	{linkName(`SERVICE_PORT(_.+)?`), isPort},
	{linkName(`PORT(_\d+_(TCP|UDP|SCTP)(_(START|END))?)?`), isLinkURL},
	{linkName(`PORT_\d+_(TCP|UDP|SCTP)_ADDR`), isAddress},
	{linkName(`PORT_\d+_(TCP|UDP|SCTP)_PORT(_(START|END))?`), isPort},
	{linkName(`PORT_\d+_(TCP|UDP|SCTP)_PROTO`), isProtocol},
}

func linkName(rest string) *regexp.Regexp {
	return regexp.MustCompile(`^` + Prefix + `(.+_)?` + rest + `$`)
}

// linksIn reads which containers Docker has linked. Docker sets the name of each, as
// SECKILL_DB_NAME=/web/seckill-db.
func linksIn(environ []string) (l links) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		alias, ok := strings.CutSuffix(name, "_NAME")
		if ok && strings.HasPrefix(value, "/") && strings.ToUpper(strings.ReplaceAll(path.Base(value), "-", "_")) == alias {
			l.aliases = append(l.aliases, alias)
		}
	}
	return l
}

// has reports whether an orchestrator set the variable. Docker also copies the environment of a
// linked container, as SECKILL_DB_ENV_TZ, with any value.
func (l links) has(name, value string) bool {
	for _, v := range linkVariables {
		if v.name.MatchString(name) && v.fits(value) {
			return true
		}
	}
	return slices.ContainsFunc(l.aliases, func(alias string) bool {
		return name == alias+"_NAME" || strings.HasPrefix(name, alias+"_ENV_")
	})
}

func isAddress(value string) bool {
	_, err := netip.ParseAddr(value)
	return err == nil
}

func isPort(value string) bool {
	port, err := strconv.ParseUint(value, 10, 16)
	return err == nil && port > 0
}

func isProtocol(value string) bool { return value == "tcp" || value == "udp" || value == "sctp" }

func isLinkURL(value string) bool {
	protocol, at, _ := strings.Cut(value, "://")
	_, err := netip.ParseAddrPort(at)
	return err == nil && isProtocol(protocol)
}
