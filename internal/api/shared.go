package api

import (
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// forASecond lets caches between here and the clients answer for a second, while a browser asks
// each time, with the tag of what it has. byToken keeps an administrator's answers apart.
var (
	forASecond = []string{"public, max-age=0, s-maxage=1"}
	byToken    = []string{"Authorization"}
)

// writeShared writes what everyone but an administrator is told, or only that it is what the client
// has already. The tag depends on the text alone, so that every instance gives the same.
func writeShared(c *gin.Context, text []byte) {
	sum := fnv.New64a()
	_, _ = sum.Write(text) // it never fails
	tag := `"` + strconv.FormatUint(sum.Sum64(), 36) + `"`
	h := c.Writer.Header()
	h["Etag"] = []string{tag}
	h["Cache-Control"] = forASecond
	h["Vary"] = byToken
	if hasTag(c.Request.Header["If-None-Match"], tag) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return
	}
	h["Content-Type"] = typeJSON
	c.Status(http.StatusOK)
	if _, err := c.Writer.Write(text); err != nil {
		_ = c.Error(err)
	}
}

// hasTag reports whether an If-None-Match names the tag; the comparison is the weak one, as
// RFC 9110, section 13.1.2, has it.
func hasTag(header []string, tag string) bool {
	for _, line := range header {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
