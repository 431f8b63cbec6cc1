package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"firn.dev"
)

// gathered is the result of the gather phase.
type gathered struct {
	facts []Fact
	upTo  map[firn.ID]firn.EntryID
	seen  seen
}

// gather extracts facts from new conversations. A conversation that cannot be read or waits
// for the result of a call is skipped and tried again next time; so are those beyond the
// limit.
func (d *Dreamer) gather(ctx context.Context, dream *Dream, news news) (gathered, error) {
	all := gathered{upTo: make(map[firn.ID]firn.EntryID), seen: maps.Clone(news.seen)}
	looked := 0
	for _, s := range news.sessions {
		if looked == maxSessions {
			break
		}
		after, err := d.Dir.Examined(s.ID)
		if err != nil {
			return all, err
		}
		entries, older, err := s.Path(ctx)
		if cause := context.Cause(ctx); cause != nil {
			return all, fmt.Errorf("read conversations: %w", cause)
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
		found, err := Extractor{Model: d.Model, Backoff: d.Backoff, Familiar: d.Familiar, Notes: s.Notes}.Extract(ctx, m)
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
	// Add facts in the order in which they were stated, so that the latest takes precedence.
	slices.SortStableFunc(all.facts, func(a, b Fact) int { return a.written.Compare(b.written) })
	dream.Found = len(all.facts)
	return all, nil
}

// consolidate consolidates the notes and the gathered facts into a draft. The model is
// called once: its advice is returned and can be reused.
func (d *Dreamer) consolidate(ctx context.Context, dream *Dream, gathered gathered, known *advice) (*draft, *advice, error) {
	files, err := d.Dir.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := d.Dir.clock()
	dream.Notes = len(files.notes())
	work := newWorkspace(files, dayStart(now))
	work.resolveDates()
	work.merge()
	work.add(gathered.facts)
	if known == nil {
		known = &advice{}
		if d.Model != nil {
			answer, err := d.advise(ctx, work)
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
	known.apply(work)
	work.prune(maxFacts)
	draft := newDraft("dream", now)
	work.write(draft, files)
	draft.index(files)
	return draft, known, nil
}

// prune removes the least certain and oldest extracted facts if there are too many. Facts
// noted by hand are kept.
func (d *workspace) prune(most int) {
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
			d.recordEdit("prune", it.Fact, []string{it.was.String()}, nil, "there are too many")
		}
	}
}
