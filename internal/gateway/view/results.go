package view

import (
	"context"

	"firn.dev"
	"firn.dev/internal/render/card"
	"firn.dev/wire"
)

// nearCalls is the number of entries before a result that are searched for its call.
const nearCalls = 8

// hasResult reports whether a card has a result of a tool.
func hasResult(c *wire.Card) bool {
	for i := range c.Blocks {
		if c.Blocks[i].Kind == wire.BlockResult && c.Blocks[i].Call != "" {
			return true
		}
	}
	return false
}

// addCalls adds the calls of a card by their IDs.
func addCalls(calls map[string]wire.Block, c *wire.Card) {
	for _, b := range c.Blocks {
		if b.Kind == wire.BlockCall && b.Call != "" {
			calls[b.Call] = b
		}
	}
}

// keptResult is the length of the longest line with a result that is kept in memory, in
// bytes. A page of cards has only a few of that length.
const keptResult = 64 << 10

// keepResult notes that a record has a result.
func (r *entryReader) keepResult(rec *firn.Record) {
	if r.results == nil {
		r.results = make(map[firn.Pos]*firn.Entry)
	}
	r.results[rec.At] = nil
	if entry, err := rec.Entry(); err == nil && len(rec.Line()) <= keptResult {
		r.results[rec.At] = &entry
	}
}

// resultAt returns an entry with a result, or false if it cannot be read.
func (r *entryReader) resultAt(ctx context.Context, at firn.Pos) (firn.Entry, bool) {
	if entry := r.results[at]; entry != nil {
		return *entry, true
	}
	rec, err := recordAt(ctx, r.v.Store, r.id, at)
	if err != nil {
		return firn.Entry{}, false
	}
	entry, err := rec.Entry()
	return entry, err == nil
}

// joinResults renders the results of a page again whose calls are on the page too: the call
// says which tool and which file a result is of.
func (r *entryReader) joinResults(ctx context.Context) {
	if len(r.results) == 0 {
		return
	}
	calls := make(map[string]wire.Block)
	for i := range r.page.Items {
		if c := r.page.Items[i].Card; c != nil {
			addCalls(calls, c)
		}
	}
	for i := range r.page.Items {
		e := &r.page.Items[i]
		if _, ok := r.results[e.At]; !ok || e.Card == nil || !answers(e.Card, calls) {
			continue
		}
		entry, ok := r.resultAt(ctx, e.At)
		if !ok {
			continue // it stays without the form of its tool
		}
		c := card.Render(entry, card.Options{Session: r.id, Cut: cardCut, Bytes: int(e.Card.Bytes), Calls: calls})
		e.Card = &c
	}
}

// answers reports whether one of the calls has its result in a card.
func answers(c *wire.Card, calls map[string]wire.Block) bool {
	for i := range c.Blocks {
		if _, ok := calls[c.Blocks[i].Call]; ok && c.Blocks[i].Kind == wire.BlockResult {
			return true
		}
	}
	return false
}

// callsBefore returns the calls in the few entries before one on its branch. It reads the
// session back once.
func callsBefore(ctx context.Context, v *View, id firn.ID, rec *firn.Record) map[string]wire.Block {
	calls := make(map[string]wire.Block)
	seen := 0
	for before, err := range v.trail(ctx, id, fromParent(rec)) {
		if err != nil {
			break // the result is shown without its tool
		}
		c, err := v.cardOf(id, &before, cardCut)
		if err != nil {
			break
		}
		addCalls(calls, c)
		if seen++; seen == nearCalls {
			break
		}
	}
	return calls
}
