package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"firn.dev"
)

// gathered is what conversations had to offer.
type gathered struct {
	facts []Fact
	upTo  map[firn.ID]firn.EntryID
	seen  seen
}

// gather looks for facts in conversations that have news. One that cannot be
// read, or that waits for the result of a call, is passed over, and looked at
// next time; so are those that are too many.
func (d *Dreamer) gather(ctx context.Context, dream *Dream, news news) (gathered, error) {
	all := gathered{upTo: make(map[firn.ID]firn.EntryID), seen: maps.Clone(news.seen)}
	looked := 0
	for _, s := range news.sessions {
		if looked == maxSessions {
			break
		}
		after, err := d.Dir.Looked(s.ID)
		if err != nil {
			return all, err
		}
		entries, older, err := s.Path(ctx)
		if cause := context.Cause(ctx); cause != nil {
			return all, fmt.Errorf("look through conversations: %w", cause)
		}
		if err != nil {
			dream.Fallbacks = append(dream.Fallbacks, fmt.Sprintf("session %s was not read: %v", s.ID, err))
			all.seen[s.ID] = glance{s.Mark, true}
			continue
		}
		m := Collect(s.ID, entries, after, older)
		all.seen[s.ID] = glance{s.Mark, m.Pending}
		if m.Pending {
			continue
		}
		if looked++; len(m.Lines) == 0 {
			continue
		}
		found, err := Extractor{Model: d.Model, Backoff: d.Backoff, Familiar: d.Familiar, Told: s.Told}.Extract(ctx, m)
		if err != nil {
			return all, err
		}
		if found.Usage != nil {
			dream.Usage = addUsage(dream.Usage, *found.Usage)
		}
		if found.Fallback != "" {
			dream.Fallbacks = append(dream.Fallbacks, fmt.Sprintf("session %s was read without a model: %s", s.ID, found.Fallback))
		}
		dream.Sessions++
		for _, f := range found.Facts {
			if d.Keep == nil || d.Keep(f) {
				all.facts = append(all.facts, f)
			}
		}
		all.upTo[s.ID] = m.Last
	}
	// What was said first is taken in first, so that the latest counts.
	slices.SortStableFunc(all.facts, func(a, b Fact) int { return a.said.Compare(b.said) })
	dream.Found = len(all.facts)
	return all, nil
}

// consolidate sorts the notes and what was gathered into a draft. The model is
// asked once: what it advised is given back, and serves again.
func (d *Dreamer) consolidate(ctx context.Context, dream *Dream, gathered gathered, known *advice) (*draft, *advice, error) {
	files, err := d.Dir.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := d.Dir.clock()
	dream.Notes = len(files.notes())
	desk := newDesk(files, dayStart(now))
	desk.date()
	desk.merge()
	desk.add(gathered.facts)
	if known == nil {
		known = &advice{}
		if d.Model != nil {
			answer, err := d.advise(ctx, desk)
			if cause := context.Cause(ctx); cause != nil {
				return nil, nil, fmt.Errorf("sort the notes: %w", cause)
			}
			if err != nil {
				dream.Fallbacks = append(dream.Fallbacks, "the notes were sorted without a model: "+err.Error())
			} else {
				known = answer
			}
			if known.usage != nil {
				dream.Usage = addUsage(dream.Usage, *known.usage)
			}
		}
	}
	known.follow(desk)
	desk.prune(maxFacts)
	draft := newDraft("dream", now)
	desk.write(draft, files)
	draft.index(files)
	return draft, known, nil
}

// prune leaves out the least sure and oldest of what was found, if it is too
// much. What was noted by hand stays.
func (d *desk) prune(most int) {
	var found []*item
	for _, it := range d.items {
		if !it.gone && (it.fresh || it.Note == extractedNote) {
			found = append(found, it)
		}
	}
	if len(found) <= most {
		return
	}
	slices.SortStableFunc(found, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.Confidence, b.Confidence), a.Day.Compare(b.Day))
	})
	for _, it := range found[:len(found)-most] {
		it.gone = true
		if !it.fresh {
			d.note("prune", it.Fact, []string{it.was.String()}, nil, "there are too many")
		}
	}
}
