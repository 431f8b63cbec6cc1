// Package webui is what browsers see: pages that are in the program itself, and
// ask the gateway for everything else.
//
// The pages are made of src by esbuild and lie in dist, so that to build firn
// nothing but Go is needed. This package serves them and knows nothing of what
// they show: every address that is not a file is the same page, which reads its
// address itself. Nothing here needs a login, since nothing here is a secret.
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

// policy is what a page may do: run and show what comes from us, and nothing
// else. What is set as HTML must have been through the one policy that the pages
// have, named firn: see https://www.w3.org/TR/trusted-types/.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types firn"

// Handler answers with the pages. What is sent is made ready with the first
// request, so that who asks for no page pays nothing.
func Handler() http.Handler {
	return serve(func() fs.FS {
		files, err := fs.Sub(dist, "dist")
		if err != nil {
			return dist // which cannot be: the name is a good one
		}
		return files
	}())
}

// serve is Handler of some files.
func serve(files fs.FS) http.Handler {
	return &handler{site: sync.OnceValues(func() (*site, error) { return build(files) })}
}

type handler struct{ site func() (*site, error) }

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
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

// secure tells the browser what a page may do.
func secure(head http.Header) {
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Others learn nothing of where one was. We do: else the browser would not
	// say of every request that it is from our page.
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	head.Set("Cache-Control", "no-store")
}

// send answers with a file, or that it has not changed.
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
	w.Write(body) // who is gone needs no page
}

// matches reports whether a list of tags has one.
func matches(list, etag string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

// accepts reports whether a browser can unpack what is packed so.
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
