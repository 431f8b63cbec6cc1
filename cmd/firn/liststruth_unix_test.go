//go:build unix

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// listing holds the properties of a session from a full read of its transcript.
type listing struct {
	// line is all that is compared, shape which entry follows which.
	line     string
	shape    string
	messages []firn.EntryID
	updated  time.Time
	// listed is set if it is neither hidden nor archived.
	listed bool
	// empty is set if it has only a header, settings, key records and tombstones.
	empty bool
	// purged is set if entries were erased: those counted before stay counted.
	purged bool
}

// truths reads all transcripts.
func (l *lists) truths() map[firn.ID]listing {
	l.t.Helper()
	st, err := filestore.Open(l.home, filestore.Options{ReadOnly: true})
	if errors.Is(err, firn.ErrNotFound) {
		return nil
	}
	if err != nil {
		l.t.Fatal(err)
	}
	defer st.Close()
	holdings, err := st.Holdings(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	all := make(map[firn.ID]listing)
	for _, h := range holdings {
		if h.Removed || h.Receipt != nil {
			continue
		}
		r := &transcriptReader{tree: &firn.Tree{}}
		for rec, err := range st.Read(l.t.Context(), h.ID, store.Start) {
			if err != nil {
				l.t.Fatalf("%s: read %s: %v", l.step, h.ID, err)
			}
			e, err := rec.Entry()
			if err != nil {
				l.t.Fatalf("%s: read %s: %v", l.step, h.ID, err)
			}
			r.add(rec, e)
		}
		all[h.ID] = r.properties(h)
	}
	return all
}

// transcriptReader is a transcript that is being read, by the rules of docs/format.md alone.
type transcriptReader struct {
	header        firn.Header
	title, prompt string
	source        firn.Source
	tags          string
	end           firn.Pos
	created       time.Time
	updated       time.Time
	tree          *firn.Tree
	used          agent.Counters
	last          *store.Counts
	stones        []firn.Tombstone
	stoneIDs      []firn.EntryID
	messages      []firn.EntryID
	// erased is the number of purged entries. Turns that were counted stay counted.
	erased int
	// content is set by the first entry that is more than a setting.
	content bool
}

func (r *transcriptReader) add(rec store.Record, e firn.Entry) {
	if r.created.IsZero() {
		r.created = e.Time
	}
	c, custom := e.Body.(*firn.Custom)
	if !custom || !strings.Contains(string(c.Data), `"moved":`) && !(c.Type == "firn.reset" && strings.Contains(string(c.Data), `"next":`)) {
		r.updated = e.Time
	}
	if rec.Glance.Kind == firn.KindErased {
		r.erased++
	}
	r.content = r.content || isContent(e)
	r.end = rec.Next
	r.used.Add(e)
	switch b := e.Body.(type) {
	case *firn.Header:
		r.header = *b
		return
	case *firn.Title:
		if b.Source != firn.SourceAuto || r.source == firn.SourceAuto || r.title == "" {
			r.title, r.source = b.Name, b.Source
		}
	case *firn.Message:
		r.messages = append(r.messages, e.ID)
		if b.Role == firn.RoleUser && r.prompt == "" {
			r.prompt = strings.TrimSpace(firn.CutText(b.Text(), 100)) // lists have no trailing space
		}
	case *firn.Tombstone:
		r.stones, r.stoneIDs = append(r.stones, *b), append(r.stoneIDs, e.ID)
	case *firn.Custom:
		if tags, ok := store.TagsOf(b); ok {
			r.tags = store.JoinTags(tags)
		}
		if counts, ok := store.CountsOf(b); ok {
			r.last = &counts
		}
	}
	r.tree.Add(rec.At, rec.Glance)
}

// isContent reports whether an entry makes a session one that lists show.
func isContent(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Header, *firn.ModelChange, *firn.ThinkingChange, *firn.Tombstone:
		return false
	case *firn.Custom:
		return !slices.Contains([]string{"firn.key", "firn.reset", "firn.send", "firn.verbose", "firn.auth"}, b.Type)
	}
	return true
}

func (r *transcriptReader) properties(h store.Holding) listing {
	off := make(map[firn.EntryID]bool)
	for i := len(r.stones) - 1; i >= 0; i-- {
		if !off[r.stoneIDs[i]] {
			off[r.stones[i].Target] = true
		}
	}
	hidden := off[firn.EntryID(h.ID)]
	leaves, shape := leavesOf(r.tree)
	state := wire.State{Turns: r.used.Turns, Messages: r.used.Messages, Compactions: r.used.Compactions, Branches: leaves}
	return listing{
		line: spell(wire.Session{
			Title: r.title, Prompt: r.prompt, CWD: r.header.CWD, Agent: r.header.Agent, Key: r.header.Key, Hidden: hidden, Archived: h.Archived, Empty: !r.content, End: r.end,
			Created: r.created, Updated: r.updated, Bytes: h.Bytes, Counts: countsOnWire(r.last), State: &state,
		}, r.tags), shape: shape,
		messages: r.messages, updated: r.updated, listed: !hidden && !h.Archived, empty: !r.content, purged: r.erased > 0,
	}
}

// leavesOf counts the ends of branches: entries that nothing follows. A head entry is not
// an end, and counts as a child only if another entry follows it.
func leavesOf(tree *firn.Tree) (int, string) {
	followed := make(map[int]bool)
	for i := tree.Len() - 1; i >= 0; i-- {
		if n := tree.Node(i); n.Kind != firn.KindHead || followed[i] {
			followed[n.ParentIndex] = true
		}
	}
	leaves := 0
	var shape strings.Builder
	for i := range tree.Len() {
		n := tree.Node(i)
		fmt.Fprintf(&shape, "%d %s %s after %d\n", i, n.ID, n.Kind, n.ParentIndex)
		if !followed[i] && n.Kind != firn.KindHead {
			leaves++
		}
	}
	return leaves, shape.String()
}

func countsOnWire(c *store.Counts) *wire.Counts {
	if c == nil || *c == (store.Counts{}) {
		return nil
	}
	return &wire.Counts{Turns: c.Turns, Messages: c.Messages, Compactions: c.Compactions, Branches: c.Branches, Tokens: c.Tokens, Window: c.Window, Cost: c.Cost}
}

// spell formats the compared properties.
func spell(s wire.Session, tags string) string {
	counts := wire.Counts{}
	if s.Counts != nil {
		counts = *s.Counts
	}
	return fmt.Sprintf("title %q, prompt %q, cwd %q, agent %q, tags %q, hidden %t, archived %t, empty %t, end %d, %d bytes, created %s, updated %s, counted %+v, %d turns, %d messages, %d compactions, %d branches",
		s.Title, s.Prompt, s.CWD, s.Agent, tags, s.Hidden, s.Archived, s.Empty, s.End, s.Bytes, s.Created.UTC(), s.Updated.UTC(), counts, s.State.Turns, s.State.Messages, s.State.Compactions, s.State.Branches)
}

// formatListed formats the properties of a session in a list. A list without states leaves them
// out.
func formatListed(s wire.Session, want listing) string {
	if s.State == nil || want.purged {
		s.State = &wire.State{}
		text := spell(s, strings.Join(s.Tags, ","))
		return text[:strings.LastIndex(text, "}, ")] + want.line[strings.LastIndex(want.line, "}, "):]
	}
	return spell(s, strings.Join(s.Tags, ","))
}

// latestOf returns the listed session that was appended to last.
func latestOf(all map[firn.ID]listing) (latest firn.ID) {
	for id, w := range all {
		if w.listed && (latest == "" || w.updated.After(all[latest].updated) || w.updated.Equal(all[latest].updated) && id < latest) {
			latest = id
		}
	}
	return latest
}
