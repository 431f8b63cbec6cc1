package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"firn"
	"firn/agent"
	"firn/compact"
	"firn/store"
	"firn/window"
	"firn/wire"
)

// Bounds of courses.
const (
	// mostEpisodes is how many episodes a course has at most.
	mostEpisodes = 400
	// courseBytes is how much of a session is read; of a longer one it is the end.
	courseBytes = 256 << 20
	// mostCourses is of how many sessions what was read is kept.
	mostCourses = 4
	// coursePreview bounds what is told of what a user said, in characters.
	coursePreview = 80
)

// Course tells how the branch of the head went: its turns, each with what it
// added to the window, what it used and how full the window was at its end. The
// numbers are estimates, but for what was used. A session is read once; what
// is added to it is read when it is asked for again. Of one that is longer than
// 256 MB only the end is read.
func (g *Gateway) Course(ctx context.Context, id firn.ID) (wire.Course, error) {
	out := wire.Course{Session: id, Step: 1, Episodes: []wire.Episode{}}
	if err := g.mustBe(ctx, id); err != nil {
		return out, err
	}
	path, err := g.path(ctx, id)
	if err != nil {
		return out, err
	}
	p, err := g.outlook(ctx, id, path)
	if err != nil {
		return out, err
	}
	fixed := wire.WindowTotals{System: p.Request.Window.Tokens.System, Specs: p.Tools}
	known := g.courses.of(id)
	known.mu.Lock()
	defer known.mu.Unlock()
	if err := known.catchUp(ctx, g); err != nil {
		return out, fmt.Errorf("read the course of session %s: %w", id, err)
	}
	turns := known.turns(fixed)
	out.Turns, out.Partial = len(turns), known.from > store.Start
	out.Step, out.Episodes = merge(turns, mostEpisodes)
	return out, nil
}

// courses keeps what was read of some sessions, those that were asked for last.
// It can be thrown away at any time.
type courses struct {
	mu   sync.Mutex
	last []*course
}

// of returns what is known of a session.
func (c *courses) of(id firn.ID) *course {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := &course{id: id}
	if i := slices.IndexFunc(c.last, func(k *course) bool { return k.id == id }); i >= 0 {
		known = c.last[i]
		c.last = slices.Delete(c.last, i, i+1)
	}
	c.last = append(c.last, known)
	if len(c.last) > mostCourses {
		c.last = slices.Delete(c.last, 0, 1)
	}
	return known
}

// forget forgets what was read of a session.
func (c *courses) forget(id firn.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.DeleteFunc(c.last, func(k *course) bool { return k.id == id })
}

// course is what was read of a session: its shape, and what each entry weighs.
type course struct {
	id firn.ID
	mu sync.Mutex
	reading
}

// reading is how far a session was read.
type reading struct {
	// from is where reading began, end where it got to, with the entry last;
	// base is how many entries stand before from, -1 if that is not known.
	from, end firn.Pos
	last      firn.EntryID
	base      int
	tree      firn.Tree
	// entries has one for each node of the tree.
	entries []weighed
}

// weighed is what counts of an entry.
type weighed struct {
	id     firn.EntryID
	role   firn.Role
	tokens int64
	time   time.Time
	calls  int
	used   wire.Counters
	// preview is told of what the user said, compaction of compactions.
	preview    string
	compaction *wire.Compaction
	// sent says that a model is sent it; first is what a compaction kept first.
	sent  bool
	first firn.EntryID
}

// catchUp reads what was added since the last time; all of it if the session is
// not the one that was read.
func (k *course) catchUp(ctx context.Context, g *Gateway) error {
	if !k.holds(ctx, g) {
		k.reading = reading{}
		if err := k.begin(ctx, g); err != nil {
			return err
		}
	}
	for rec, err := range g.Store.Read(ctx, k.id, k.end) {
		if err != nil {
			return err
		}
		k.end = rec.Next
		if rec.Gap == nil && k.tree.Add(rec.At, rec.Glance) >= 0 {
			k.last = rec.Glance.ID
			k.entries = append(k.entries, weigh(&rec))
		}
	}
	return nil
}

// holds reports whether what was read last is still there.
func (k *course) holds(ctx context.Context, g *Gateway) bool {
	if k.last == "" {
		return false
	}
	for rec, err := range g.Store.ReadBack(ctx, k.id, k.end) {
		if err == nil && rec.Gap == nil && isNode(&rec) {
			return rec.Glance.ID == k.last
		}
		if err != nil || rec.Gap == nil {
			break
		}
	}
	return false
}

// begin finds where to begin: of a very long session only the end is read.
func (k *course) begin(ctx context.Context, g *Gateway) error {
	size := int64(0)
	if info, err := g.info(ctx, k.id); err == nil && info.Bytes <= courseBytes {
		return nil
	}
	for rec, err := range g.Store.ReadBack(ctx, k.id, store.End) {
		if err != nil {
			return err
		}
		if size += int64(len(rec.Line())); size > courseBytes {
			k.from, k.end = rec.Next, rec.Next
			break
		}
	}
	n, known, err := g.numbers.before(ctx, g.Store, k.id, k.from)
	if k.base = n; !known {
		k.base = -1
	}
	return err
}

// weigh tells what counts of an entry. One that cannot be read weighs nothing.
func weigh(rec *firn.Record) weighed {
	w := weighed{id: rec.Glance.ID}
	e, err := rec.Entry()
	if err != nil {
		return w
	}
	w.time = e.Time
	var used agent.Counters
	used.Add(e)
	w.used = countersOf(used)
	switch b := e.Body.(type) {
	case *firn.Message:
		w.role, w.tokens, w.sent = b.Role, window.Chars{}.CountMessage(b), true
		for _, part := range b.Parts {
			if _, ok := part.(firn.ToolCall); ok {
				w.calls++
			}
		}
		if b.Role == firn.RoleUser {
			w.preview = preview(b.Text(), coursePreview)
		}
	case *firn.CustomMessage:
		w.tokens, w.sent = window.Chars{}.CountMessage(&firn.Message{Parts: b.Parts}), true
	case *firn.BranchSummary:
		w.tokens, w.sent = window.Chars{}.CountText(b.Summary), true
	case *firn.Compaction:
		w.tokens, w.first = window.Chars{}.CountText(b.Summary), b.FirstKept
		d := compact.DetailsOf(b)
		w.compaction = &wire.Compaction{
			ID: e.ID, Summary: preview(b.Summary, coursePreview), Before: b.TokensBefore, After: d.TokensAfter, Strategy: string(d.Strategy),
			Reason: string(d.Reason), Model: d.Model, At: e.Time.UTC().Format(time.RFC3339Nano),
		}
	}
	return w
}
