package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"go.yaml.in/yaml/v3"

	"example.com/seckill/internal/api/web"
)

//go:embed openapi.yaml
var openAPI []byte

// pagePolicy allows the page its own files and its own origin; nothing else runs in it, frames it
// or receives data from it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kinds maps the extensions of the page's files to media types. The system's table may differ, and
// a browser runs no script under another type.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// pages serves the contract and the files in web, each under its own name and index.html at /.
func (s *Server) pages(get func(path string, e endpoint)) error {
	files, err := web.Files.ReadDir(".")
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	for _, f := range files {
		text, err := web.Files.ReadFile(f.Name())
		if err != nil {
			return fmt.Errorf("api: %w", err)
		}
		at := "/" + f.Name()
		if at == "/index.html" {
			at = "/"
		}
		kind, known := kinds[path.Ext(f.Name())]
		if !known {
			return fmt.Errorf("api: web/%s: unknown kind of file", f.Name())
		}
		get(at, fixed(kind, text))
	}
	spec, err := contract()
	if err != nil {
		return err
	}
	get("/openapi.json", fixed("application/json", spec))
	if s.deps.Gallery != nil {
		get("/gallery.json", s.gallery)
	}
	return nil
}

// gallery serves the gallery of wrong implementations, which is put together when it is first asked for.
func (s *Server) gallery(c *gin.Context) string {
	text, packed, err := s.deps.Gallery()
	if err != nil {
		return s.refuse(c, err)
	}
	c.Writer.Header()["Vary"] = []string{"Accept-Encoding"}
	if strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		c.Writer.Header()["Content-Encoding"] = []string{"gzip"}
		return fixed("application/json", packed)(c)
	}
	return fixed("application/json", text)(c)
}

// contract returns the written contract as JSON.
func contract() ([]byte, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		return nil, fmt.Errorf("api: openapi.yaml: %w", err)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("api: openapi.yaml: %w", err)
	}
	return text, nil
}

// fixed serves a compiled-in file. A browser keeps it and revalidates it.
func fixed(kind string, text []byte) endpoint {
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(c *gin.Context) string {
		h := c.Writer.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if hasTag(c.Request.Header["If-None-Match"], tag) {
			c.Status(http.StatusNotModified)
			c.Writer.WriteHeaderNow()
			return ""
		}
		h.Set("Content-Type", kind)
		h.Set("Content-Length", strconv.Itoa(len(text)))
		c.Status(http.StatusOK)
		_, _ = c.Writer.Write(text)
		return ""
	}
}
