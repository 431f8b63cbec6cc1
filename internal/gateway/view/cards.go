package view

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/render/card"
	"firn.dev/store"
	"firn.dev/wire"
)

const (
	// cardCut is the maximum length of each text on a page of cards, in bytes; pageHTML is
	// the size of HTML after which such a page ends.
	cardCut  = 8 << 10
	pageHTML = 190 << 10
)

// cardOf renders a record as a card.
func (v *View) cardOf(id firn.ID, rec *firn.Record, cut int) (*wire.Card, error) {
	entry, err := rec.Entry()
	if err != nil {
		return nil, err
	}
	c := card.Render(entry, card.Options{Session: id, Cut: cut, Bytes: len(rec.Line())})
	return &c, nil
}

// wholeCard renders all of a record. Results get the forms of their calls' tools.
func wholeCard(ctx context.Context, v *View, id firn.ID, rec *firn.Record) (*wire.Card, error) {
	rec.Decode()
	c, err := v.cardOf(id, rec, 0)
	if err != nil || !hasResult(c) {
		return c, err
	}
	entry, err := rec.Entry()
	if err != nil {
		return nil, err
	}
	joined := card.Render(entry, card.Options{Session: id, Bytes: len(rec.Line()), Calls: callsBefore(ctx, v, id, rec)})
	return &joined, nil
}

// RecordEntry converts a record for listeners, to a card if html is set. A record that cannot be
// decoded is reported as damage.
func (v *View) RecordEntry(ctx context.Context, id firn.ID, rec *firn.Record, html bool) wire.Entry {
	e := wire.Entry{At: rec.At, Next: rec.Next}
	var err error
	if html {
		e.Card, err = v.cardOf(id, rec, cardCut)
	} else {
		e.Line, err = v.line(rec)
	}
	gap := badText(rec)
	if err != nil {
		e.Gap, gap = err.Error(), undecoded(rec, err)
	}
	if gap != nil && isReported(gap) {
		e.Damage = new(v.damage(ctx, id, gap))
	}
	return e
}

// undecoded returns the gap of a record that could not be decoded; nil if its format is
// merely unsupported.
func undecoded(rec *firn.Record, err error) *firn.Gap {
	switch {
	case rec.Gap != nil:
		return rec.Gap
	case errors.Is(err, firn.ErrUnsupported):
		return nil
	}
	if _, cause := rec.Entry(); cause != nil {
		err = cause
	}
	return &firn.Gap{Kind: firn.GapDamaged, At: rec.At, Next: rec.Next, Entry: rec.Glance.ID, Detail: err.Error()}
}

// cardSize returns the approximate size of a card as JSON, in bytes.
func cardSize(c *wire.Card) int {
	size := 400
	for i := range c.Blocks {
		b := &c.Blocks[i]
		size += 120 + len(b.HTML) + strings.Count(b.HTML, `"`) + strings.Count(b.HTML, "\n") + len(b.Preview)
	}
	return size
}

// start returns the start of the walk along the requested branch.
func (r *entryReader) start(ctx context.Context) (walkStart, error) {
	if r.from.set {
		return walkStart{child: r.from.pos, known: true, want: r.from.want, loose: r.from.loose}, nil
	}
	if r.q.Head == "" {
		return fromHead(), nil
	}
	head, err := r.v.EntryAt(ctx, r.id, r.q.Head)
	if n := numberOf(r.q.Head); err == nil && n > 0 {
		return r.startAt(ctx, n)
	}
	return walkStart{child: store.End, known: true, want: head, named: true}, err
}

// startAt returns the start at entry number n, even if later entries have the same ID.
func (r *entryReader) startAt(ctx context.Context, n int) (walkStart, error) {
	s, done, err := r.v.Shape(ctx, r.id)
	if err != nil {
		return walkStart{}, err
	}
	defer done()
	if n > s.Tree.Len() {
		return walkStart{}, NoEntry(r.id, r.q.Head, "")
	}
	from := walkStart{child: store.End, known: true, want: s.Tree.Node(n - 1).ID, named: true}
	if n < s.Tree.Len() {
		from.child = s.Tree.Node(n).At
	}
	return from, nil
}

// numberOf returns n for #n and zero for any other reference.
func numberOf(name string) int {
	if ref, err := parseReference(name); err == nil && ref.kind == byNumber {
		return ref.n
	}
	return 0
}

// Entry returns a complete entry by reference, as its line or as a card.
func (v *View) Entry(ctx context.Context, id firn.ID, ref string, html bool) (wire.Entry, error) {
	rec, err := v.record(ctx, id, ref)
	if err != nil {
		return wire.Entry{}, err
	}
	page := wire.Page[wire.Entry]{}
	r := &entryReader{v: v, id: id, q: EntryQuery{View: wire.ViewDisk, HTML: html}, page: &page}
	e := r.entry(ctx, &rec)
	if html {
		if e.Card, err = wholeCard(ctx, v, id, &rec); err != nil {
			return wire.Entry{}, fmt.Errorf("read entry %s of session %s: %w", Clip(ref), id, err)
		}
	}
	page.Items = append(page.Items, e)
	err = r.explain(ctx)
	return page.Items[0], err
}

// record reads the record of a referenced entry. The record stays valid.
func (v *View) record(ctx context.Context, id firn.ID, ref string) (firn.Record, error) {
	entry, err := v.EntryAt(ctx, id, ref)
	if err != nil {
		return firn.Record{}, err
	}
	at, err := v.placeOf(ctx, id, entry)
	if err != nil {
		return firn.Record{}, err
	}
	return recordAt(ctx, v.Store, id, at)
}

// placeOf returns the position of an entry. It reads back to it, or uses the shape of the
// session if it is far from the end.
func (v *View) placeOf(ctx context.Context, id firn.ID, entry firn.EntryID) (firn.Pos, error) {
	shape, done, err := (shaper{v}).knownShape(ctx, id)
	if err != nil {
		return 0, err
	}
	if shape == nil {
		for rec, err := range readBackBounded(ctx, v.Store, id) {
			if errors.Is(err, errLong) {
				break
			}
			if err != nil {
				return 0, fmt.Errorf("read session %s: %w", id, err)
			}
			if IsNode(&rec) && rec.Glance.ID == entry {
				return rec.At, nil
			}
		}
		if shape, done, err = v.Shape(ctx, id); err != nil {
			return 0, err
		}
	}
	defer done()
	n := shape.Tree.Find(entry)
	if n < 0 {
		return 0, NoEntry(id, string(entry), "it no longer exists")
	}
	return shape.Tree.Node(n).At, nil
}

// cloneRecord returns a copy that stays valid.
func cloneRecord(rec *firn.Record) firn.Record {
	own := *rec
	own.Decode()
	line := rec.Line()
	if line == nil {
		return own
	}
	entry, err := own.Entry()
	return firn.LazyRecord(rec.At, rec.Next, rec.Glance, slices.Clone(line), func([]byte) (firn.Entry, error) { return entry, err })
}

// Image returns an image of an entry. It accepts only formats that cannot contain a
// program, detected from the data.
func (v *View) Image(ctx context.Context, id firn.ID, ref string, n int) ([]byte, string, error) {
	rec, err := v.record(ctx, id, ref)
	if err != nil {
		return nil, "", err
	}
	entry, err := rec.Entry()
	if err != nil {
		return nil, "", fmt.Errorf("read entry %s of session %s: %w", Clip(ref), id, err)
	}
	images := card.Images(entry)
	if n < 1 || n > len(images) {
		return nil, "", &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("entry %s has %d images; there is no image %d", Clip(ref), len(images), n)}
	}
	data, err := base64.StdEncoding.DecodeString(images[n-1].Data)
	kind := card.Sniff(data)
	if err != nil || kind == "" {
		return nil, "", &wire.Problem{Kind: wire.Unsupported, Message: "the image is not shown: only PNG, JPEG, GIF and WebP are supported"}
	}
	return data, kind, nil
}
