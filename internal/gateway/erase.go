package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
)

// erasing is a look through a session for what goes when some of its entries are
// erased: those themselves, and what repeats them. That is the pieces of an answer
// that were kept while it was given, what was told to another agent, the message as
// it waited, automatic titles that were found afterwards, whatever they are made
// of, and the counts that carry a title or a tag that goes.
type erasing struct {
	// named are the entries that somebody named.
	named map[firn.EntryID]bool
	// entries are those that go, in the order of the log; bytes is how long their
	// lines are, and typed what somebody may have typed of them.
	entries []firn.EntryID
	bytes   int64
	typed   []string
	// unread is why not all that was typed is known.
	unread string
	// summaries are those that stay, although they may repeat what goes.
	summaries []firn.EntryID

	// spoken says that something said goes, answered that the latest answer does.
	spoken, answered bool
	// collected are messages that became one that goes, or go as they waited.
	collected map[firn.EntryID]bool
	// names are what the session is called without what goes; titles and tags are
	// those that go, counts says that counts go with them.
	names        store.Names
	titles, tags map[string]bool
	counts       bool
}

// erasing plans to erase entries, and changes nothing.
func (g *Gateway) erasing(ctx context.Context, id firn.ID, names []firn.EntryID) (erasing, error) {
	p := erasing{named: make(map[firn.EntryID]bool), collected: make(map[firn.EntryID]bool), titles: make(map[string]bool), tags: make(map[string]bool)}
	for _, name := range names {
		entry, err := g.EntryAt(ctx, id, string(name))
		if err != nil {
			return p, err
		}
		p.named[entry] = true
	}
	// Messages that waited stand before the one that they became.
	err := g.lookThrough(ctx, id, func(e firn.Entry, _ int) {
		if !p.named[e.ID] {
			return
		}
		for _, waited := range collected(e) {
			p.collected[waited] = true
		}
		if c, ok := e.Body.(*firn.Custom); ok {
			if w, ok := waitingOf(c); ok { // it may be there more than once
				p.collected[w.ID] = true
			}
		}
	})
	if err == nil {
		err = g.lookThrough(ctx, id, p.see)
	}
	if err != nil {
		err = fmt.Errorf("look for what repeats entries of session %s: %w", id, err)
	}
	return p, err
}

// erasingAll plans to erase a whole session. Of one that is in the bin it is not
// known what it says. One that cannot be read, or not all of it, can be erased all
// the same: it is told that more may have been typed of it.
func (g *Gateway) erasingAll(ctx context.Context, id firn.ID) (erasing, error) {
	var p erasing
	err := g.lookThrough(ctx, id, func(e firn.Entry, _ int) { p.typed = append(p.typed, typedOf(e)...) })
	if err != nil && ctx.Err() != nil {
		return p, fmt.Errorf("look for what was typed of session %s: %w", id, err)
	}
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		p.unread = err.Error()
		g.Log.Warn("a session that is to be erased cannot all be read, so that lines of it may be left in what was typed", "session", id, "error", err)
	}
	return p, nil
}

// typedOf is what somebody may have typed of an entry: what was said, also if it only
// waited, names, labels and tags.
func typedOf(e firn.Entry) []string {
	switch b := e.Body.(type) {
	case *firn.Message:
		if b.Role == firn.RoleUser {
			return []string{b.Text()}
		}
	case *firn.Title:
		if b.Source != firn.SourceAuto {
			return []string{b.Name}
		}
	case *firn.Label:
		return []string{b.Name}
	case *firn.Custom:
		if w, ok := waitingOf(b); ok {
			return []string{w.Text}
		}
		tags, _ := store.TagsOf(b)
		return tags
	}
	return nil
}

// waitingOf is the message that an entry says is waiting, if it says so.
func waitingOf(c *firn.Custom) (w waiting, ok bool) {
	ok = c.Type == queuedType && json.Unmarshal(c.Data, &w) == nil
	return w, ok
}

// lookThrough shows all entries of a session that can be read. One that cannot is
// shown without what it says. With each is told how long its line is.
func (g *Gateway) lookThrough(ctx context.Context, id firn.ID, see func(e firn.Entry, size int)) error {
	for rec, err := range g.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return err
		}
		if !view.IsNode(&rec) {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			e = firn.Entry{ID: rec.Glance.ID}
		}
		see(e, len(rec.Line()))
	}
	return nil
}

// see takes notice of the next entry.
func (p *erasing) see(e firn.Entry, size int) {
	goes := p.named[e.ID] || p.repeats(e)
	if goes && !slices.Contains(p.entries, e.ID) {
		p.entries = append(p.entries, e.ID)
		p.bytes += int64(size)
		p.typed = append(p.typed, typedOf(e)...)
	}
	switch b := e.Body.(type) {
	case *firn.Message:
		p.spoken = p.spoken || goes
		if b.Role == firn.RoleAssistant {
			p.answered = goes
		}
	case *firn.CustomMessage:
		p.spoken = p.spoken || goes
	case *firn.Compaction, *firn.BranchSummary:
		if p.spoken && !goes {
			p.summaries = append(p.summaries, e.ID)
		}
	case *firn.Title:
		if goes {
			p.titles[b.Name] = true
		} else {
			p.names.See(e)
		}
	case *firn.Custom:
		p.custom(e, b, goes)
	}
}

// custom takes notice of tags, and of counts that go.
func (p *erasing) custom(e firn.Entry, b *firn.Custom, goes bool) {
	tags, ok := store.TagsOf(b)
	switch {
	case ok && goes:
		for _, tag := range tags {
			p.tags[tag] = true
		}
	case ok:
		p.names.See(e)
	case b.Type == countersType && goes:
		p.counts = true
	}
}

// repeats reports whether an entry that nobody named repeats what goes.
func (p *erasing) repeats(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Title:
		return b.Source == firn.SourceAuto && p.spoken
	case *firn.Custom:
		switch b.Type {
		case firn.DraftType:
			return p.named[draftOf(b)]
		case agent.SpawnedType:
			return p.answered
		case queuedType:
			w, ok := waitingOf(b)
			return ok && (p.named[w.ID] || p.collected[w.ID])
		case countersType:
			names, ok := store.NamesOf(b)
			return ok && (p.titles[names.Title] || slices.ContainsFunc(names.Tags, func(tag string) bool { return p.tags[tag] }))
		}
	}
	return false
}

// recount stores the counts of a session anew, with what it is called now: those
// that are erased are then not missed.
func (g *Gateway) recount(ctx context.Context, id firn.ID, names store.Names) error {
	for try := 1; ; try++ {
		info, err := g.Info(ctx, id)
		if err != nil {
			return err
		}
		entry, err := agent.CountersEntry(ctx, g.Store, id, info.End, names)
		if err != nil {
			return err
		}
		if _, err = g.append(ctx, id, info.End, entry); !errors.Is(err, firn.ErrConflict) || try == maxTries {
			return err
		}
	}
}
