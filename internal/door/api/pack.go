package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// packFrom is from how many bytes on a reply is worth packing.
const packFrom = 2 << 10

// pack makes a reply smaller for a client that can unpack it, and reports
// whether it did. Over the socket it would be work for nothing, and what is
// remembered to be said again is remembered plain.
func (c *call) pack(b *bytes.Buffer) (*bytes.Buffer, bool) {
	if b.Len() <= packFrom || isOwner(c.r.Context()) || c.w.copy != nil {
		return b, false
	}
	c.w.Header().Add("Vary", "Accept-Encoding")
	if !acceptsGzip(c.r) {
		return b, false
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // a level that there is
	if _, err := z.Write(b.Bytes()); err != nil || z.Close() != nil || packed.Len() >= b.Len() {
		return b, false
	}
	return &packed, true
}

// acceptsGzip reports whether a client can unpack gzip.
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
