package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/find/redact"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// Fork creates a session that continues from an entry of this one. Without an entry it
// continues from the head, which is rejected while a turn is running.
//
// The path to the entry is copied with IDs and times. Labels and tombstones in effect now
// are written again after the copy, wherever they were in the log, as pi does with labels.
// Entries that concern only the old session are left out: titles, counters, resets, queued
// messages, and drafts of complete answers. The header names the old session.
//
// The cost of the copied answers was spent once, by the old session. So the copy ends with
// a counters entry that starts from zero and marks everything before it as copied; see
// [forkMark].
func (g *sessionEditor) Fork(ctx context.Context, id firn.ID, f wire.Fork) (wire.Session, error) {
	if err := g.CheckExists(ctx, id); err != nil {
		return wire.Session{}, err
	}
	own, made, err := g.forkedBefore(ctx)
	if err != nil {
		return wire.Session{}, err
	}
	if made != nil {
		return g.forkedAgain(ctx, own, made, f.Key)
	}
	title, err := titleEntry(f.Title)
	if err != nil {
		return wire.Session{}, err
	}
	var read readEntries
	b, at, err := g.forkPoint(ctx, id, string(f.At), &read)
	if err != nil {
		return wire.Session{}, err
	}
	header, err := g.forkHeader(ctx, id, f.Key)
	if err != nil {
		return wire.Session{}, err
	}
	if title == nil {
		if title, err = g.forkTitle(ctx, id); err != nil {
			return wire.Session{}, err
		}
	}
	header.Session = own
	c := newCopier(g, id, b, at)
	c.read = read
	if c.replaces, err = g.keyHolder(ctx, header.Key); err != nil {
		return wire.Session{}, err
	}
	if err := c.run(ctx, header, title); err != nil {
		return wire.Session{}, fmt.Errorf("fork session %s: %w", id, err)
	}
	if header.Key != "" {
		if err := g.bindKey(ctx, header.Key, header.Session); err != nil {
			return wire.Session{}, err
		}
	}
	return g.reader.updated(g.reader.session(view.WithKnown(ctx, header.Session, c.stored), listedAs(g.Store, header.Session)))
}

// forkPoint returns the entry that a fork continues from, as its index in the tree; -1 if
// the session is empty. It keeps the entries up to there in read.
func (g *sessionEditor) forkPoint(ctx context.Context, id firn.ID, ref string, read *readEntries) (*view.Outline, int, error) {
	if ref == "" || ref == view.HeadName {
		if err := g.lanes.mustBeIdle(id, "fork"); err != nil {
			return nil, 0, err
		}
	}
	var target firn.EntryID
	if ref != "" && ref != view.HeadName {
		var err error
		if target, err = g.EntryAt(ctx, id, ref); err != nil {
			return nil, 0, err
		}
	}
	b, err := g.OwnOutline(ctx, id, func(rec *firn.Record) { read.add(rec, target) })
	if err != nil {
		return nil, 0, fmt.Errorf("fork session %s: %w", id, err)
	}
	if target == "" {
		return b, b.Tree.Head(), nil
	}
	n := b.Tree.Find(target)
	if n == b.Tree.Head() {
		err = g.lanes.mustBeIdle(id, "fork")
	}
	return b, n, err
}

// forkHeader returns the header of a fork.
func (g *sessionEditor) forkHeader(ctx context.Context, id firn.ID, key string) (firn.Header, error) {
	old, err := g.header(ctx, id)
	if err != nil {
		return firn.Header{}, err
	}
	header := firn.Header{Agent: old.Agent, CWD: old.CWD, ParentSession: string(id)}
	if key != "" {
		k, err := g.canonical(key)
		if err != nil {
			return header, err
		}
		if _, err := g.setup.Load().agent(k.Agent()); err != nil {
			return header, err
		}
		header.Key, header.Agent = k.String(), k.Agent()
	}
	if header.Agent == "" { // written by another tool; the store knows the agent
		info, err := g.Info(ctx, id)
		if err != nil {
			return header, err
		}
		header.Agent = info.Agent
	}
	return header, nil
}

// forkTitle returns an automatic title derived from the original session.
func (g *sessionEditor) forkTitle(ctx context.Context, id firn.ID) ([]firn.Entry, error) {
	info, err := g.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	name := info.Title
	if name == "" {
		name = info.Prompt
	}
	if name == "" {
		name = string(id)
	}
	if !strings.HasPrefix(name, "(fork of ") {
		name = "(fork of " + view.Preview(name, view.PreviewRunes) + ")"
	}
	return []firn.Entry{firn.NewEntry(&firn.Title{Name: name, Source: firn.SourceAuto})}, nil
}

// The types of the entries in which package agent stores the counters of a session and the
// usage of answers that are not in the log.
const (
	countersType = firn.CountersType
	usageType    = "firn.usage"
)

// forkMark is the data of the counters entry that ends the copy in a fork: the turns and
// compactions of the copied path, and no usage. Forked is the origin of everything before
// it, so that usage reports stop there.
type forkMark struct {
	agent.Counters
	// Entries is the number of entries before the mark.
	Entries int              `json:"entries,omitempty"`
	Names   store.Checkpoint `json:"names"`
	Forked  *forkOrigin      `json:"forked,omitempty"`
}

type forkOrigin struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry,omitempty"`
	// Replaces is the session that the fork's key pointed at before.
	Replaces firn.ID `json:"replaces,omitempty"`
}

// Limits of one append during a copy.
const (
	copyEntries = 2000
	copyBytes   = 8 << 20
)

// copier copies the path to an entry into a new session.
type copier struct {
	g    *sessionEditor
	from firn.ID
	// point is the last entry of the path; empty if the session is empty.
	point firn.EntryID
	// read are the entries that were read to find the path, as far as they were kept.
	read readEntries
	// b is the outline of a fork and at the index of point in it; nil for a thread.
	b  *view.Outline
	at int
	// path are the indexes of the entries to copy, ids their IDs.
	path map[int]bool
	ids  map[firn.EntryID]bool

	// copied are the IDs in the copy, last is the latest of them. replacedBy maps the IDs
	// of skipped entries to the next copied entry.
	copied map[firn.EntryID]bool
	// written is the number of entries written so far.
	written    int
	last       firn.EntryID
	replacedBy map[firn.EntryID]firn.EntryID
	skipped    []firn.EntryID
	count      agent.Counters
	state      store.Checkpoint

	id    firn.ID
	end   firn.Pos
	batch []firn.Entry
	size  int
	// stored are the entries of the copy as they are in the store; empty if it took more than
	// one append, or if a secret was replaced.
	stored map[firn.EntryID]firn.Entry
	// tombstone hides the copy while it is incomplete.
	tombstone firn.EntryID
	// replaces is the session that the fork's key pointed at before.
	replaces firn.ID
}

func newCopier(g *sessionEditor, from firn.ID, b *view.Outline, at int) *copier {
	c := &copier{
		g: g, from: from, b: b, at: at, path: make(map[int]bool), ids: make(map[firn.EntryID]bool),
		copied: make(map[firn.EntryID]bool), replacedBy: make(map[firn.EntryID]firn.EntryID),
	}
	for _, n := range b.Tree.Path(at) {
		c.path[n] = true
		c.ids[b.Tree.Node(n).ID] = true
	}
	if at >= 0 {
		c.point = b.Tree.Node(at).ID
	}
	return c
}

// run makes the copy. If it takes more than one append, the copy is hidden until it is
// complete, so that a crash leaves no partial session in lists.
func (c *copier) run(ctx context.Context, header firn.Header, title []firn.Entry) error {
	c.start(header)
	if c.at < len(c.read.entries) {
		for n := range c.at + 1 {
			if c.path[n] {
				if err := c.takeRead(ctx, &c.read.entries[n]); err != nil {
					return err
				}
			}
		}
		return c.finish(ctx, title)
	}
	n := 0
	for rec, err := range c.g.Store.Read(ctx, c.from, store.Start) {
		if err != nil {
			return err
		}
		if !view.IsNode(&rec) {
			continue
		}
		if n > c.at {
			break
		}
		if c.path[n] {
			one := decoded(&rec)
			if err := c.takeRead(ctx, &one); err != nil {
				return err
			}
		}
		n++
	}
	return c.finish(ctx, title)
}

// start begins the copy with its header. Nothing is written yet.
func (c *copier) start(header firn.Header) {
	c.id = header.Session
	c.batch = []firn.Entry{{Time: c.g.now(), Body: &header}}
	c.state.See(c.id, c.batch[0])
}

// finish writes the end of the copy.
func (c *copier) finish(ctx context.Context, title []firn.Entry) error {
	c.batch = append(c.batch, c.tail()...)
	c.batch = append(c.batch, title...)
	if c.tombstone != "" {
		c.batch = append(c.batch, firn.NewEntry(&firn.Tombstone{Target: c.tombstone, Reason: "the copy is complete"}))
	}
	if r, ok := requestOf(ctx); ok { // on the last entry, which marks the copy as complete
		last := &c.batch[len(c.batch)-1]
		last.Extra = append(slices.Clip(last.Extra), r.field())
	}
	return c.flush(ctx)
}

// takeRead copies an entry that was read unless it is left out or unreadable.
func (c *copier) takeRead(ctx context.Context, r *readEntry) error {
	if r.err != nil {
		c.skipped = append(c.skipped, r.ID)
		return nil
	}
	return c.take(ctx, r.Entry, r.size)
}

// take copies an entry of about size bytes unless it is left out.
func (c *copier) take(ctx context.Context, e firn.Entry, size int) error {
	if !c.wants(&e) {
		c.skipped = append(c.skipped, e.ID)
		return nil
	}
	c.count.Add(e)
	old := e.ID
	if c.copied[e.ID] { // the file contains the ID twice
		e.ID = firn.NewEntryID()
	}
	if e.Parent = c.last; c.last == "" {
		e.Parent = firn.Root
	}
	if b, ok := e.Body.(*firn.Compaction); ok {
		e.Body = c.remapKept(*b, e.ID)
	}
	e.Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(f firn.Field) bool { return f.Name == acceptedField })
	for _, id := range c.skipped {
		c.replacedBy[id] = e.ID
	}
	c.skipped = c.skipped[:0]
	c.copied[old], c.copied[e.ID], c.last = true, true, e.ID
	c.state.See(c.id, e)
	c.batch = append(c.batch, e)
	c.written++
	if c.size += size; len(c.batch) >= copyEntries || c.size >= copyBytes {
		return c.flushHidden(ctx)
	}
	return nil
}

// aboutOne reports whether custom entries of a type concern only their own session.
func aboutOne(kind string) bool {
	switch kind {
	case countersType, usageType, queuedType, resetType, store.KeyType, agent.AskedType, agent.AnsweredType:
		return true
	}
	return false
}

// wants reports whether an entry belongs in a fork.
func (c *copier) wants(e *firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Label, *firn.Title, *firn.Tombstone, *firn.Head:
		return false
	case *firn.Custom:
		return !aboutOne(b.Type) && !(b.Type == firn.DraftType && c.ids[draftOf(b)])
	}
	return true
}

// draftOf returns the answer that a draft belongs to.
func draftOf(b *firn.Custom) firn.EntryID {
	var piece struct {
		Answer firn.EntryID `json:"answer"`
	}
	if json.Unmarshal(b.Data, &piece) != nil {
		return ""
	}
	return piece.Answer
}

// remapKept returns a compaction whose first kept entry is in the copy: the next copied
// entry if that entry was skipped. If it is not on the path at all, the compaction names
// itself, which keeps no earlier entry.
func (c *copier) remapKept(b firn.Compaction, own firn.EntryID) *firn.Compaction {
	if b.FirstKept == "" || c.copied[b.FirstKept] {
		return &b
	}
	next, ok := c.replacedBy[b.FirstKept]
	if !ok {
		next = own
	}
	b.FirstKept = next
	return &b
}

// tail returns the entries after the copy: the mark, and the tombstones and labels of
// copied entries.
func (c *copier) tail() []firn.Entry {
	mark := forkMark{
		Counters: agent.Counters{Turns: c.count.Turns, Messages: c.count.Messages, Compactions: c.count.Compactions, Window: c.count.Window},
		Entries:  c.written,
		Names:    c.state.Seal(),
		Forked:   &forkOrigin{Session: c.from, Entry: c.point, Replaces: c.replaces},
	}
	entries := []firn.Entry{firn.NewEntry(&firn.Custom{Type: countersType, Data: toJSON(mark)})}
	if c.last == "" {
		entries[0].Parent = firn.Root
	} else {
		entries[0].Parent = c.last
	}
	if c.b == nil { // hidden entries were not copied
		return entries
	}
	for n := range c.b.Tree.Len() {
		if id := c.b.Tree.Node(n).ID; c.path[n] && c.copied[id] && c.b.Hidden[id] {
			entries = append(entries, firn.NewEntry(&firn.Tombstone{Target: id, Reason: "hidden in the session this was forked from"}))
		}
	}
	for _, target := range slices.Sorted(maps.Keys(c.b.Labels)) {
		if c.copied[target] {
			entries = append(entries, firn.NewEntry(&firn.Label{Target: target, Name: c.b.Labels[target]}))
		}
	}
	return entries
}

// flushHidden writes the entries copied so far, hidden until the copy is complete.
func (c *copier) flushHidden(ctx context.Context) error {
	if c.tombstone == "" {
		veil := firn.NewEntry(&firn.Tombstone{Target: firn.EntryID(c.id), Reason: "the copy is not whole yet"})
		veil.Parent = firn.Root
		c.tombstone = veil.ID
		c.state.See(c.id, veil)
		c.batch = slices.Insert(c.batch, 1, veil)
		c.written++
	}
	return c.flush(ctx)
}

func (c *copier) flush(ctx context.Context) error {
	masked := 0
	end, err := c.g.Store.Append(redact.WithCount(ctx, &masked), c.id, c.end, c.batch...)
	c.stored = nil
	if err == nil && c.end == store.Start && masked == 0 {
		c.stored = storedEntries(c.batch[1 : c.written+1])
	}
	c.end, c.batch, c.size = end, c.batch[:0], 0
	return err
}

// storedEntries returns copied entries as they are in the store.
func storedEntries(entries []firn.Entry) map[firn.EntryID]firn.Entry {
	all := make(map[firn.EntryID]firn.Entry, len(entries))
	for _, e := range entries {
		if e.Parent == firn.Root {
			e.Parent = ""
		}
		all[e.ID] = e
	}
	return all
}
