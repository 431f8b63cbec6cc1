package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"

	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// asHTML selects entries and events rendered as HTML for the web pages.
const asHTML = "html"

func cardRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/sessions/{id}/entries/{entry}", name: "getEntry", heavy: true, scope: wire.ScopeRead, what: "Returns one complete entry.", query: []param{
			text("as", "html: as a rendered card.", asHTML),
		}, action: give(entryCalls.getEntry)},
		{method: "GET", path: "/v1/sessions/{id}/entries/{entry}/images/{n}", name: "getImage", heavy: true, scope: wire.ScopeRead, what: "Returns an image of an entry: PNG, JPEG, GIF or WebP only.", action: write("image/*", entryCalls.getImage)},
	}
}

// html reports whether the request asks for HTML.
func (c *call) html() (bool, error) {
	switch as := c.query.text("as"); as {
	case "":
		return false, nil
	case asHTML:
		return true, nil
	default:
		return false, gateway.Invalid("unknown format %q: expected html or, for entries, text", view.Clip(as))
	}
}

// asText selects lines as JSON strings, byte for byte.
const asText = "text"

// entryFormat returns the requested format of entries: asText, asHTML or "".
func (c entryCalls) entryFormat() (string, error) {
	if as := c.query.text("as"); as == asText {
		return as, nil
	}
	html, err := c.html()
	if html {
		return asHTML, err
	}
	return "", err
}

// setLineFormat moves the line of an entry to its text member if the format is asText.
func setLineFormat(e *wire.Entry, as string) {
	if as == asText {
		e.Text, e.Line = string(e.Line), nil
	}
}

func (c entryCalls) getEntry() (wire.Entry, error) {
	as, err := c.entryFormat()
	if err != nil {
		return wire.Entry{}, err
	}
	id, err := c.session()
	if err != nil {
		return wire.Entry{}, err
	}
	e, err := c.gateway.Entry(c.r.Context(), id, c.r.PathValue("entry"), as == asHTML)
	setLineFormat(&e, as)
	return e, err
}

// getImage sends an image. The security policy prevents it from running scripts if it is
// opened as a page.
func (c entryCalls) getImage() error {
	id, err := c.session()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.r.PathValue("n"))
	if err != nil {
		return gateway.Invalid("image number %q is not a number", view.Clip(c.r.PathValue("n")))
	}
	data, kind, err := c.gateway.Image(c.r.Context(), id, c.r.PathValue("entry"), n)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	mark := `"` + hex.EncodeToString(sum[:16]) + `"`
	head := c.w.Header()
	head.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	// The browser may cache the image but must revalidate it, since access may have been
	// revoked.
	head.Set("Cache-Control", "private, no-cache")
	head.Set("Etag", mark)
	c.deadline()
	if c.r.Header.Get("If-None-Match") == mark {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	head.Set("Content-Type", kind)
	head.Set("Content-Length", strconv.Itoa(len(data)))
	head.Set("Content-Disposition", "inline")
	c.w.WriteHeader(http.StatusOK)
	c.w.Write(data) // errors mean the client disconnected
	return nil
}
