package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// Events yields the events of a session: first the log entries after a position, then new
// entries and turn events as they occur. If a turn is running, the log is followed by its
// start event and the text produced so far. Events that follow from an entry are yielded
// after it. The sequence ends with ctx, or with one of these events: [wire.Gap] if the
// listener was too slow, which must then reconnect from the position of its last entry, or
// from the start if all positions have changed; [wire.Bye] if the gateway shuts down.
func (g *eventFeeds) Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return g.streamEvents(ctx, id, after, false)
}

// PageEvents is like Events, for web pages: entries are rendered as cards and a partial
// answer as incremental HTML.
func (g *eventFeeds) PageEvents(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return g.streamEvents(ctx, id, after, true)
}

// CheckPosition rejects a position that is not the end of an entry: one past the end of the
// session, or inside an entry. It reads only the records around the position. It ignores
// read errors, which the subsequent read reports.
func (g *eventFeeds) CheckPosition(ctx context.Context, id firn.ID, pos firn.Pos) error {
	if pos == store.Start {
		return nil
	}
	end := store.Start
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return nil
		}
		end = rec.Next
		break
	}
	if pos >= end {
		if pos == end {
			return nil
		}
		return noPosition(id, pos, fmt.Sprintf("it is after the end, %d", end))
	}
	for before, err := range g.Store.ReadBack(ctx, id, pos) {
		if err != nil {
			return nil
		}
		for rec, err := range g.Store.Read(ctx, id, before.At) {
			if err != nil || rec.Next >= pos {
				if err == nil && rec.At < pos && pos < rec.Next {
					return noPosition(id, pos, "it is in the middle of an entry")
				}
				return nil
			}
		}
		return nil
	}
	return nil
}

func noPosition(id firn.ID, pos firn.Pos, why string) error {
	return &wire.Problem{
		Kind: wire.Invalid, Message: fmt.Sprintf("%d is not a position of session %s: %s", pos, id, why),
		Hint: "positions are event ids; without one, events start at the beginning",
	}
}

// followed is a log entry as an event, or the error that ended the log.
type followed struct {
	event wire.Event
	// entry is the entry's ID, pos the position after it. quiet entries are not sent; the
	// event of a draft is a delta, and held is set while its answer may still be silent.
	entry firn.EntryID
	pos   firn.Pos
	quiet bool
	held  bool
	err   error
}

// draftDelta returns the text of a draft, and whether its answer may still be silent. It
// returns false for other records.
func draftDelta(rec *firn.Record) (d wire.Delta, held, ok bool) {
	if rec.Gap != nil || rec.Glance.Kind != firn.KindCustom {
		return d, false, false
	}
	entry, err := rec.Entry()
	if err != nil {
		return d, false, false
	}
	c, ok := entry.Body.(*firn.Custom)
	if !ok || c.Type != firn.DraftType {
		return d, false, false
	}
	var chunk struct {
		Answer firn.EntryID `json:"answer"`
		Text   string       `json:"text"`
		Held   bool         `json:"held"`
	}
	_ = json.Unmarshal(c.Data, &chunk) // invalid members are left empty
	return wire.Delta{Text: chunk.Text, Entry: chunk.Answer}, chunk.Held, true
}

// entryEvent converts a log record to an event.
func (g *eventFeeds) entryEvent(ctx context.Context, id firn.ID, rec *firn.Record, html bool) wire.Event {
	name := wire.EntryAppended
	if rec.Gap == nil && rec.Glance.Kind == firn.KindHead {
		name = wire.HeadMoved
	}
	e := event(name, id, g.RecordEntry(ctx, id, rec, html))
	e.Pos = rec.Next
	return e
}

// AllEvents yields the turn events of all sessions. It begins with the start event of each
// running turn and the text produced so far.
func (g *eventFeeds) AllEvents(ctx context.Context) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		listener, running := g.events.listenToAll()
		defer g.events.leave(listener)
		for _, now := range running {
			if !yield(now.started, nil) || now.hasContent() && !yield(event(wire.TurnPartial, now.started.Session, now.Partial), nil) {
				return
			}
		}
		for {
			select {
			case e := <-listener.events:
				if !yield(e, nil) {
					return
				}
			case <-listener.slow:
				yield(event(wire.Gap, "", nil), nil)
				return
			case <-listener.gone:
				yield(event(wire.Bye, "", nil), nil)
				return
			case <-ctx.Done():
				return
			}
		}
	}
}
