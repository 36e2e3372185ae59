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
	"sync"

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
		if f.Name() == missingPage {
			continue
		}
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
		get("/gallery.json", s.gallery())
	}
	return nil
}

// missingPage is the page for an address that has none. It is no file of the page.
const missingPage = "404.html"

// noRoute answers a request that no route serves. A person who opened the address in a browser gets a page, and any
// other client gets the problem.
func (s *Server) noRoute() gin.HandlerFunc {
	missing, err := web.Files.ReadFile(missingPage)
	return s.observe(func(c *gin.Context) string {
		c.Writer.Header()["Vary"] = []string{"Accept"}
		if err != nil || !opensPage(c.Request) {
			return s.refuse(c, errNoRoute)
		}
		h := c.Writer.Header()
		pageHeaders(h)
		h["Cache-Control"] = noStore
		h.Set("Content-Type", kinds[".html"])
		c.Status(http.StatusNotFound)
		_, _ = c.Writer.Write(missing)
		return problemOf(errNoRoute).code
	})
}

// opensPage reports whether a browser asks for an address of its bar: it then accepts text/html by name.
func opensPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/api/") &&
		strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html")
}

// gallery serves the gallery of wrong implementations. The first request puts it together and computes its tags.
func (s *Server) gallery() endpoint {
	type forms struct{ plain, packed endpoint }
	load := sync.OnceValues(func() (forms, error) {
		text, packed, err := s.deps.Gallery()
		if err != nil {
			return forms{}, err
		}
		return forms{fixed("application/json", text), fixed("application/json", packed)}, nil
	})
	return func(c *gin.Context) string {
		f, err := load()
		if err != nil {
			return s.refuse(c, err)
		}
		c.Writer.Header()["Vary"] = []string{"Accept-Encoding"}
		if !acceptsGzip(c.Request.Header["Accept-Encoding"]) {
			return f.plain(c)
		}
		c.Writer.Header()["Content-Encoding"] = []string{"gzip"}
		return f.packed(c)
	}
}

// acceptsGzip reports whether a client takes gzip. The coding's own entry counts before that of *, and a weight of 0
// refuses it, as RFC 9110, section 12.5.3, has it.
func acceptsGzip(header []string) (accepts bool) {
	for _, line := range header {
		for entry := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(entry, ";")
			coding = strings.ToLower(strings.TrimSpace(coding))
			if coding != "gzip" && coding != "x-gzip" && coding != "*" {
				continue
			}
			name, value, weighed := strings.Cut(weight, "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			accepts = !weighed || !strings.EqualFold(strings.TrimSpace(name), "q") || err == nil && q > 0
			if coding != "*" {
				return accepts
			}
		}
	}
	return accepts
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
		pageHeaders(h)
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

// pageHeaders allow a file of the page nothing but the page.
func pageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}
