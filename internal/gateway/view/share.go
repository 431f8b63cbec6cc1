package view

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/render/page"
	"firn.dev/store"
	"firn.dev/wire"
)

// WritePage writes a session as an HTML page. It reads the session twice and holds a few
// bytes per entry.
func (v *View) WritePage(ctx context.Context, session wire.Session, view string, w io.Writer) (wire.Fidelity, error) {
	reported := wire.Fidelity{From: string(dialect.Native), To: wire.FormatHTML}
	if view != "" && view != wire.ViewBranch && view != wire.ViewDisk {
		return reported, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unsupported view %q for a page", Clip(view)), Hint: "views of a page: branch, disk"}
	}
	id := session.ID
	about := page.About{Session: id, Title: session.Title, Agent: session.Agent, Source: session.Source, Created: session.Created, Updated: session.Updated, Branch: view != wire.ViewDisk}
	plan, err := v.pagePlan(ctx, id, about.Branch)
	if err != nil {
		return reported, err
	}
	err = page.Write(w, about, plan.items(ctx, v, &reported))
	return reported, err
}

// pagePlan is the selection of entries for a page.
type pagePlan struct {
	id firn.ID
	// at are the positions of the branch, oldest first; all selects all entries instead.
	at  []firn.Pos
	all bool
	// hidden and labels are those in effect.
	hidden map[firn.EntryID]bool
	labels map[firn.EntryID]string
}

// pagePlan finds the entries of the head's branch without decoding them.
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

// items yields the entries of the page and counts them. Unreadable places of other branches
// are included: they may belong to this one.
func (p *pagePlan) items(ctx context.Context, v *View, reported *wire.Fidelity) iter.Seq2[page.Item, error] {
	return func(yield func(page.Item, error) bool) {
		next, number := 0, 0
		var lost []wire.Damage // since the last entry
		for rec, err := range v.Store.Read(ctx, p.id, store.Start) {
			if err != nil {
				yield(page.Item{}, err)
				return
			}
			if rec.Gap != nil {
				if isReported(rec.Gap) {
					d := v.damage(ctx, p.id, rec.Gap)
					d.After = number
					lost = appendDamage(lost, d)
				}
				continue
			}
			if IsNode(&rec) {
				number++
			}
			for next < len(p.at) && p.at[next] < rec.At { // damaged: not seen when reading back
				next++
			}
			if !p.all && (next == len(p.at) || rec.At != p.at[next]) {
				continue
			}
			next++
			if !damageItems(lost, reported, yield) {
				return
			}
			lost = nil
			reported.Entries, reported.Reencoded = reported.Entries+1, reported.Reencoded+1
			if !yield(p.item(ctx, v, &rec, number, reported), nil) {
				return
			}
		}
		damageItems(lost, reported, yield)
	}
}

// maxFaults is the maximum number of damaged places in a report.
const maxFaults = 10

// damageItems yields unreadable places and counts them.
func damageItems(list []wire.Damage, reported *wire.Fidelity, yield func(page.Item, error) bool) bool {
	for i := range list {
		item := page.Item{Gap: countDamage(&list[i], reported)}
		if !yield(item, nil) {
			return false
		}
	}
	return true
}

// countDamage counts damage in a report and returns its description.
func countDamage(d *wire.Damage, reported *wire.Fidelity) string {
	if d.Lost {
		reported.Damaged += int64(d.Count())
	}
	if len(reported.Faults) < maxFaults {
		reported.Faults = append(reported.Faults, d.String())
	}
	return d.String()
}

// item returns the page item of an entry with its number.
func (p *pagePlan) item(ctx context.Context, v *View, rec *firn.Record, number int, reported *wire.Fidelity) page.Item {
	entry, err := rec.Entry()
	item := page.Item{Entry: entry, Label: p.labels[entry.ID], Hidden: p.hidden[entry.ID]}
	gap := badText(rec)
	if err != nil {
		gap = undecoded(rec, err)
	}
	if gap != nil {
		d := v.damage(ctx, p.id, gap)
		if d.N = number; !IsNode(rec) {
			d.N = 0
		}
		item.Damage = countDamage(&d, reported)
	}
	if err != nil {
		return page.Item{Gap: cmp.Or(item.Damage, err.Error())}
	}
	return item
}
