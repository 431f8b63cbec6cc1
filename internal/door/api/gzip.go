package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// packFrom is the minimum size in bytes of a compressed response.
const packFrom = 2 << 10

// pack compresses a response if the client accepts it, and reports whether it did.
// Responses over the socket are not compressed, nor are those that are cached for
// idempotency.
func (c *call) pack(b *bytes.Buffer) (*bytes.Buffer, bool) {
	if b.Len() <= packFrom || isOwner(c.r.Context()) || c.w.copy != nil {
		return b, false
	}
	c.w.Header().Add("Vary", "Accept-Encoding")
	if !acceptsGzip(c.r) {
		return b, false
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // cannot fail: the level is valid
	if _, err := z.Write(b.Bytes()); err != nil || z.Close() != nil || packed.Len() >= b.Len() {
		return b, false
	}
	return &packed, true
}

// acceptsGzip reports whether a client accepts gzip.
func acceptsGzip(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(list, ",") {
			name, quality, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				q := strings.ReplaceAll(quality, " ", "")
				return !strings.HasPrefix(q, "q=0") || strings.Trim(q, "q=0.") != ""
			}
		}
	}
	return false
}
