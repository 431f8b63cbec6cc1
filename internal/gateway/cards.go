package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"firn"
	"firn/internal/card"
	"firn/store"
	"firn/wire"
)

// asHTML asks for entries and events as pages show them.
const asHTML = "html"

const (
	// cardCut is how much of each text a page of cards has; pageHTML is after how
	// many bytes of HTML such a page ends.
	cardCut  = 8 << 10
	pageHTML = 190 << 10
)

// cardAPI shows entries as pages do.
type cardAPI interface {
	// Entry tells one entry, which somebody names, whole.
	Entry(ctx context.Context, id firn.ID, ref string, html bool) (wire.Entry, error)
	// Image is image n of an entry, from 1, and its type.
	Image(ctx context.Context, id firn.ID, ref string, n int) ([]byte, string, error)
	// PageEvents is Events with cards for entries, and HTML for what grows.
	PageEvents(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error]
}

// cardOf tells a record as a card.
func (g *Gateway) cardOf(id firn.ID, rec *firn.Record, cut int) (*wire.Card, error) {
	entry, err := rec.Entry()
	if err != nil {
		return nil, err
	}
	c := card.Of(entry, card.Options{Session: id, Cut: cut, Bytes: len(rec.Line())})
	return &c, nil
}

// cardSize is about how many bytes a card has as JSON.
func cardSize(c *wire.Card) int {
	size := 400
	for i := range c.Blocks {
		b := &c.Blocks[i]
		size += 120 + len(b.HTML) + strings.Count(b.HTML, `"`) + strings.Count(b.HTML, "\n") + len(b.Preview)
	}
	return size
}

// card tells a record of a page.
func (r *entryReader) card(rec *firn.Record) wire.Entry {
	e := wire.Entry{At: rec.At, Next: rec.Next}
	c, err := r.g.cardOf(r.id, rec, cardCut)
	if err != nil {
		e.Gap = err.Error()
		return e
	}
	e.Card = c
	r.size += cardSize(c)
	return e
}

// start is where a walk along the branch that is asked for begins.
func (r *entryReader) start(ctx context.Context) (start, error) {
	if r.from.set {
		return start{child: r.from.pos, known: true, want: r.from.want, loose: r.from.loose}, nil
	}
	if r.q.Head == "" {
		return fromHead(), nil
	}
	head, err := r.g.entryAt(ctx, r.id, r.q.Head)
	if n := numberOf(r.q.Head); err == nil && n > 0 {
		return r.startAt(ctx, n)
	}
	return start{child: store.End, known: true, want: head}, err
}

// startAt begins with the entry of a number, also if later ones have its id.
func (r *entryReader) startAt(ctx context.Context, n int) (start, error) {
	s, done, err := r.g.shape(ctx, r.id)
	if err != nil {
		return start{}, err
	}
	defer done()
	if n > s.tree.Len() {
		return start{}, noEntry(r.id, r.q.Head, "")
	}
	from := start{child: store.End, known: true, want: s.tree.Node(n - 1).ID}
	if n < s.tree.Len() {
		from.child = s.tree.Node(n).At
	}
	return from, nil
}

// numberOf is the n of #n, zero of any other name.
func numberOf(name string) int {
	if ref, err := parseReference(name); err == nil && ref.kind == byNumber {
		return ref.n
	}
	return 0
}

// Entry tells one entry of a session, by whatever name it is meant, whole: as its
// line, or as its card.
func (g *Gateway) Entry(ctx context.Context, id firn.ID, ref string, html bool) (wire.Entry, error) {
	rec, err := g.record(ctx, id, ref)
	if err != nil {
		return wire.Entry{}, err
	}
	page := wire.Page[wire.Entry]{}
	r := &entryReader{g: g, id: id, q: EntryQuery{View: wire.ViewDisk, HTML: html}, page: &page}
	e := r.entry(&rec)
	if html {
		if e.Card, err = g.cardOf(id, &rec, 0); err != nil {
			return wire.Entry{}, fmt.Errorf("read entry %s of session %s: %w", clip(ref), id, err)
		}
	}
	page.Items = append(page.Items, e)
	err = r.explain(ctx)
	return page.Items[0], err
}

// record reads the record of an entry that somebody names. It stays valid.
func (g *Gateway) record(ctx context.Context, id firn.ID, ref string) (firn.Record, error) {
	entry, err := g.entryAt(ctx, id, ref)
	if err != nil {
		return firn.Record{}, err
	}
	at, err := g.placeOf(ctx, id, entry)
	if err != nil {
		return firn.Record{}, err
	}
	return g.recordAt(ctx, id, at)
}

// placeOf finds where an entry stands. It reads back to it; if it is far from the
// end, the shape of the session knows.
func (g *Gateway) placeOf(ctx context.Context, id firn.ID, entry firn.EntryID) (firn.Pos, error) {
	shape, done, err := g.knownShape(ctx, id)
	if err != nil {
		return 0, err
	}
	if shape == nil {
		for rec, err := range g.upTo(ctx, id) {
			if errors.Is(err, errLong) {
				break
			}
			if err != nil {
				return 0, fmt.Errorf("read session %s: %w", id, err)
			}
			if isNode(&rec) && rec.Glance.ID == entry {
				return rec.At, nil
			}
		}
		if shape, done, err = g.shape(ctx, id); err != nil {
			return 0, err
		}
	}
	defer done()
	n := shape.tree.Find(entry)
	if n < 0 {
		return 0, noEntry(id, string(entry), "it was there a moment ago")
	}
	return shape.tree.Node(n).At, nil
}

// kept is a record that stays valid.
func kept(rec *firn.Record) firn.Record {
	own := *rec
	own.Decode()
	line := rec.Line()
	if line == nil {
		return own
	}
	entry, err := own.Entry()
	return firn.LazyRecord(rec.At, rec.Next, rec.Glance, slices.Clone(line), func([]byte) (firn.Entry, error) { return entry, err })
}

// Image returns an image of an entry, if it is a picture that cannot be a
// program, whatever it says it is.
func (g *Gateway) Image(ctx context.Context, id firn.ID, ref string, n int) ([]byte, string, error) {
	rec, err := g.record(ctx, id, ref)
	if err != nil {
		return nil, "", err
	}
	entry, err := rec.Entry()
	if err != nil {
		return nil, "", fmt.Errorf("read entry %s of session %s: %w", clip(ref), id, err)
	}
	images := card.Images(entry)
	if n < 1 || n > len(images) {
		return nil, "", &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("entry %s has %d images, and no number %d", clip(ref), len(images), n)}
	}
	data, err := base64.StdEncoding.DecodeString(images[n-1].Data)
	kind := card.Sniff(data)
	if err != nil || kind == "" {
		return nil, "", &wire.Problem{Kind: wire.Unsupported, Message: "that image is not shown: it is no PNG, JPEG, GIF or WebP"}
	}
	return data, kind, nil
}

func cardRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/sessions/{id}/entries/{entry}", name: "getEntry", scope: wire.ScopeRead, what: "Tells one entry, whole. It is named by its id or the beginning of it, a label, HEAD, HEAD~n or #n.", query: []param{
			text("as", "As a page shows it.", asHTML),
		}, action: give((*call).getEntry)},
		{method: "GET", path: "/v1/sessions/{id}/entries/{entry}/images/{n}", name: "getImage", scope: wire.ScopeRead, what: "Sends an image of an entry, numbered from 1: PNG, JPEG, GIF or WebP, and nothing else.", action: write("image/*", (*call).getImage)},
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
		return false, invalid("nothing is told as %q: leave it out, or say html or, of entries, text", clip(as))
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
	e, err := c.h.api.Entry(c.r.Context(), id, c.r.PathValue("entry"), as == asHTML)
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
		return invalid("%q is no number of an image", clip(c.r.PathValue("n")))
	}
	data, kind, err := c.h.api.Image(c.r.Context(), id, c.r.PathValue("entry"), n)
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
