package view

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"firn"
	"firn/dialect"
	"firn/internal/page"
	"firn/store"
	"firn/wire"
)

// WritePage writes a session as a page to read. It reads the session twice, and
// holds a few bytes for each entry.
func (v *View) WritePage(ctx context.Context, session wire.Session, view string, w io.Writer) (wire.Fidelity, error) {
	told := wire.Fidelity{From: string(dialect.Native), To: wire.FormatHTML}
	if view != "" && view != wire.ViewBranch && view != wire.ViewDisk {
		return told, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("a page does not show %q", Clip(view)), Hint: "it shows the branch, or disk"}
	}
	id := session.ID
	about := page.About{Session: id, Title: session.Title, Agent: session.Agent, Source: session.Source, Created: session.Created, Updated: session.Updated, Branch: view != wire.ViewDisk}
	plan, err := v.pagePlan(ctx, id, about.Branch)
	if err != nil {
		return told, err
	}
	err = page.Write(w, about, plan.items(ctx, v, &told))
	return told, err
}

// pagePlan is what a page has.
type pagePlan struct {
	id firn.ID
	// at are the places of the branch, oldest first; all says that it is all there
	// is instead.
	at  []firn.Pos
	all bool
	// hidden and labels are what tombstones and labels say.
	hidden map[firn.EntryID]bool
	labels map[firn.EntryID]string
}

// pagePlan looks through a session for what leads to its head, without decoding
// it.
func (v *View) pagePlan(ctx context.Context, id firn.ID, branch bool) (*pagePlan, error) {
	s := &survey{branch: fromHead(), hidden: make(map[firn.EntryID]bool), labels: make(map[firn.EntryID]string)}
	p := &pagePlan{id: id, all: !branch, hidden: s.hidden, labels: s.labels}
	for rec, err := range v.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", id, err)
		}
		if IsNode(&rec) {
			s.mark(&rec, s.hidden[rec.Glance.ID])
		}
	}
	if !branch {
		return p, nil
	}
	for rec, err := range v.trail(ctx, id, fromHead()) {
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", id, err)
		}
		p.at = append(p.at, rec.At)
	}
	slices.Sort(p.at)
	return p, nil
}

// items yields the entries of the page, and counts them.
func (p *pagePlan) items(ctx context.Context, v *View, told *wire.Fidelity) iter.Seq2[page.Item, error] {
	return func(yield func(page.Item, error) bool) {
		next := 0
		for rec, err := range v.Store.Read(ctx, p.id, store.Start) {
			if err != nil {
				yield(page.Item{}, err)
				return
			}
			if !p.all {
				if next == len(p.at) {
					return
				}
				if rec.Gap != nil || rec.At != p.at[next] {
					continue
				}
				next++
			}
			told.Entries, told.Said = told.Entries+1, told.Said+1
			if !yield(p.item(&rec), nil) {
				return
			}
		}
	}
}

func (p *pagePlan) item(rec *firn.Record) page.Item {
	if rec.Gap != nil {
		return page.Item{Gap: rec.Gap.Error()}
	}
	entry, err := rec.Entry()
	if err != nil {
		return page.Item{Gap: err.Error()}
	}
	return page.Item{Entry: entry, Label: p.labels[entry.ID], Hidden: p.hidden[entry.ID]}
}
