package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"net/http"
	"strconv"

	"firn.dev"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// asHTML asks for entries and events as pages show them.
const asHTML = "html"

// cardAPI shows entries as pages do.
type cardAPI interface {
	// Entry tells one entry, which somebody names, whole.
	Entry(ctx context.Context, id firn.ID, ref string, html bool) (wire.Entry, error)
	// Image is image n of an entry, from 1, and its type.
	Image(ctx context.Context, id firn.ID, ref string, n int) ([]byte, string, error)
	// PageEvents is Events with cards for entries, and HTML for what grows.
	PageEvents(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error]
}

func cardRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/sessions/{id}/entries/{entry}", name: "getEntry", heavy: true, scope: wire.ScopeRead, what: "Tells one entry, whole. It is named by its id or the beginning of it, a label, HEAD, HEAD~n or #n.", query: []param{
			text("as", "As a page shows it.", asHTML),
		}, action: give((*call).getEntry)},
		{method: "GET", path: "/v1/sessions/{id}/entries/{entry}/images/{n}", name: "getImage", heavy: true, scope: wire.ScopeRead, what: "Sends an image of an entry, numbered from 1: PNG, JPEG, GIF or WebP, and nothing else.", action: write("image/*", (*call).getImage)},
	}
}

// html reports whether something is asked for as pages show it.
func (c *call) html() (bool, error) {
	switch as := c.query.text("as"); as {
	case "":
		return false, nil
	case asHTML:
		return true, nil
	default:
		return false, gateway.Invalid("nothing is told as %q: leave it out, or say html or, of entries, text", view.Clip(as))
	}
}

// asText tells lines byte for byte.
const asText = "text"

// spelling is how entries are told.
func (c *call) spelling() (string, error) {
	if as := c.query.text("as"); as == asText {
		return as, nil
	}
	html, err := c.html()
	if html {
		return asHTML, err
	}
	return "", err
}

// tellLine tells the line of an entry as it was asked for.
func tellLine(e *wire.Entry, as string) {
	if as == asText {
		e.Text, e.Line = string(e.Line), nil
	}
}

func (c *call) getEntry() (wire.Entry, error) {
	as, err := c.spelling()
	if err != nil {
		return wire.Entry{}, err
	}
	id, err := c.session()
	if err != nil {
		return wire.Entry{}, err
	}
	e, err := c.h.gateway.Entry(c.r.Context(), id, c.r.PathValue("entry"), as == asHTML)
	tellLine(&e, as)
	return e, err
}

// getImage sends an image. Opened by itself it still can do nothing.
func (c *call) getImage() error {
	id, err := c.session()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.r.PathValue("n"))
	if err != nil {
		return gateway.Invalid("%q is no number of an image", view.Clip(c.r.PathValue("n")))
	}
	data, kind, err := c.h.gateway.Image(c.r.Context(), id, c.r.PathValue("entry"), n)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	mark := `"` + hex.EncodeToString(sum[:16]) + `"`
	head := c.w.Header()
	head.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	// It may be kept, and shown again to who may still see it: so it is asked for.
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
	c.w.Write(data) // who is gone needs no answer
	return nil
}
