package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/syncmark"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
)

// erasure is a plan to erase entries of a session together with their copies: drafts of an
// answer, results reported to another agent, queued forms of a message, automatic titles
// made afterwards, and counters that carry an erased title or tag.
type erasure struct {
	// named are the entries requested by the caller.
	named map[firn.EntryID]bool
	// entries are all entries to erase, in log order; bytes is the total length of their
	// lines, typed the texts that a user may have typed.
	entries []firn.EntryID
	bytes   int64
	typed   []string
	// unread is the reason why typed may be incomplete.
	unread string
	// summaries are kept although they may repeat erased content.
	summaries []firn.EntryID

	// spoken is set if a message is erased, answered if the latest answer is.
	spoken, answered bool
	// collected are messages that were joined into an erased one or are erased in their
	// queued form.
	collected map[firn.EntryID]bool
	// names are the names of the session after the erasure; titles and tags are those
	// erased. counts is set if counters are erased with them.
	names        store.Names
	titles, tags map[string]bool
	counts       bool
}

// planErasure plans the erasure of entries. It changes nothing.
func (g *sessionRemover) planErasure(ctx context.Context, id firn.ID, names []firn.EntryID) (erasure, error) {
	p := erasure{named: make(map[firn.EntryID]bool), collected: make(map[firn.EntryID]bool), titles: make(map[string]bool), tags: make(map[string]bool)}
	for _, name := range names {
		entry, err := g.EntryAt(ctx, id, string(name))
		if err != nil {
			return p, err
		}
		p.named[entry] = true
	}
	// Queued messages precede the message that they became.
	err := g.eachEntry(ctx, id, func(e firn.Entry, _ int) {
		if !p.named[e.ID] {
			return
		}
		for _, waited := range collected(e) {
			p.collected[waited] = true
		}
		if c, ok := e.Body.(*firn.Custom); ok {
			if w, ok := waitingOf(c); ok { // it may have been stored more than once
				p.collected[w.ID] = true
			}
		}
	})
	if err == nil {
		err = g.eachEntry(ctx, id, p.visit)
	}
	if err != nil {
		err = fmt.Errorf("find copies of entries of session %s: %w", id, err)
	}
	return p, err
}

// planEraseAll plans the erasure of a whole session. The texts of a session in the trash bin are
// unknown. An unreadable session can be erased too; then unread is set.
func (g *sessionRemover) planEraseAll(ctx context.Context, id firn.ID) (erasure, error) {
	var p erasure
	err := g.eachEntry(ctx, id, func(e firn.Entry, _ int) { p.typed = append(p.typed, typedOf(e)...) })
	if err != nil && ctx.Err() != nil {
		return p, fmt.Errorf("find input history of session %s: %w", id, err)
	}
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		p.unread = err.Error()
		g.Log.Warn("a session to be erased is partly unreadable; its lines may remain in the input history", "session", id, "error", err)
	}
	return p, nil
}

// typedOf returns the texts of an entry that a user may have typed: messages, including
// queued ones, titles, labels and tags.
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

// waitingOf decodes a queued message.
func waitingOf(c *firn.Custom) (w waiting, ok bool) {
	ok = c.Type == queuedType && json.Unmarshal(c.Data, &w) == nil
	return w, ok
}

// eachEntry calls see for every entry of a session, with the length of its line. An entry
// that cannot be decoded has only its ID.
func (g *sessionRemover) eachEntry(ctx context.Context, id firn.ID, see func(e firn.Entry, size int)) error {
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

// visit adds the next entry to the plan.
func (p *erasure) visit(e firn.Entry, size int) {
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

// custom handles tags and erased counters.
func (p *erasure) custom(e firn.Entry, b *firn.Custom, goes bool) {
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

// repeats reports whether an unnamed entry repeats erased content.
func (p *erasure) repeats(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Title:
		return b.Source == firn.SourceAuto && p.spoken
	case *firn.Custom:
		switch b.Type {
		case firn.DraftType:
			return p.named[draftOf(b)]
		case agent.SpawnedType, agent.AskedType, agent.AnsweredType:
			return p.answered
		case queuedType:
			w, ok := waitingOf(b)
			return ok && (p.named[w.ID] || p.collected[w.ID])
		case countersType:
			names, ok := namesOf(b)
			return ok && (p.titles[names.Title] || slices.ContainsFunc(names.Tags, func(tag string) bool { return p.tags[tag] }))
		}
	}
	return false
}

// namesOf returns the names in an entry with counts, even if they are not a complete
// [store.Checkpoint]. Purging uses it to find text that must be erased.
func namesOf(c *firn.Custom) (store.Names, bool) {
	if c.Type != countersType {
		return store.Names{}, false
	}
	var data struct {
		Names *store.Names `json:"names"`
	}
	if json.Unmarshal(c.Data, &data) != nil || data.Names == nil {
		return store.Names{}, false
	}
	return *data.Names, true
}

// storeCounters appends new counters with the current names of the session, to replace the
// erased ones. They belong to this copy of the session: other machines count their own, so a
// sync does not publish them.
func (g *sessionRemover) storeCounters(ctx context.Context, id firn.ID, names store.Names) error {
	for try := 1; ; try++ {
		info, err := g.Info(ctx, id)
		if err != nil {
			return err
		}
		entry, err := agent.CountersEntry(ctx, g.Store, id, info.End, names)
		if err != nil {
			return err
		}
		syncmark.Add(&entry)
		if _, err = g.editor.append(ctx, id, info.End, entry); !errors.Is(err, firn.ErrConflict) || try == maxTries {
			return err
		}
	}
}
