// Package webui serves the web interface. Its pages are embedded in the binary and get all
// their data from the gateway.
//
// esbuild generates the pages from src into dist, which is checked in, so that building
// firn needs only Go. Every path that is not a file serves the same page, which interprets
// the path itself. The files contain no secrets and need no login.
package webui

import (
	"embed"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

//go:embed dist
var dist embed.FS

// policy is the Content-Security-Policy: pages may only load content from the gateway.
// Values assigned as HTML must pass the one Trusted Types policy, named firn: see
// https://www.w3.org/TR/trusted-types/.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types firn"

// Handler returns the handler for the pages. The files are prepared on the first request.
func Handler() http.Handler {
	return serve(func() fs.FS {
		files, err := fs.Sub(dist, "dist")
		if err != nil {
			return dist // cannot happen: the name is valid
		}
		return files
	}())
}

// serve returns the handler for the given files.
func serve(files fs.FS) http.Handler {
	return &handler{site: sync.OnceValues(func() (*site, error) { return build(files) })}
}

type handler struct{ site func() (*site, error) }

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "pages are only looked at", http.StatusMethodNotAllowed)
		return
	}
	s, err := h.site()
	if err != nil {
		http.Error(w, "the pages of this program are not whole", http.StatusInternalServerError)
		return
	}
	f, ok := s.find(r.URL.Path)
	if !ok {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	f.send(w, r)
}

// setSecurityHeaders sets the headers that restrict a page.
func setSecurityHeaders(head http.Header) {
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Other sites get no referrer. Our own requests need it, so that the browser states
	// their origin.
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	head.Set("Cache-Control", "no-store")
}

// send answers with a file, or with 304 if it has not changed.
func (f *file) send(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Type", f.kind)
	head.Set("Cache-Control", f.cache)
	head.Set("Vary", "Accept-Encoding")
	body, etag := f.plain, `"`+f.hash+`"`
	if f.packed != nil && accepts(r, "gzip") {
		body, etag = f.packed, `"`+f.hash+`-gzip"`
		head.Set("Content-Encoding", "gzip")
	}
	head.Set("ETag", etag)
	if matches(r.Header.Get("If-None-Match"), etag) {
		head.Del("Content-Encoding")
		head.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	head.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	w.Write(body) // the client may be gone
}

// matches reports whether a list of entity tags contains etag.
func matches(list, etag string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

// accepts reports whether the client accepts a content coding.
func accepts(r *http.Request, coding string) bool {
	for item := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			_, q, weighed := strings.Cut(quality, "=")
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return !weighed || err == nil && weight > 0
		}
	}
	return false
}
