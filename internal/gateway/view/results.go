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

// joinResults renders the results of a page again whose calls are on the page too: the call
// says which tool and which file a result is of.
func (r *entryReader) joinResults() {
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
		entry, ok := r.results[e.At]
		if !ok || e.Card == nil || !answers(e.Card, calls) {
			continue
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

// callsBefore returns the calls in the few entries before one.
func callsBefore(ctx context.Context, v *View, id firn.ID, parent firn.EntryID) map[string]wire.Block {
	calls := make(map[string]wire.Block)
	for range nearCalls {
		if parent == "" {
			break
		}
		rec, err := v.record(ctx, id, string(parent))
		if err != nil {
			break // the result is shown without its tool
		}
		c, err := v.cardOf(id, &rec, cardCut)
		if err != nil {
			break
		}
		addCalls(calls, c)
		parent = c.Parent
	}
	return calls
}
