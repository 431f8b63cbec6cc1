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
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// Fork begins a session that goes on from an entry of this one; without one,
// from the head, which is refused while a turn is running.
//
// The path to the entry is copied with its ids and times. Labels and what
// tombstones hide are as they are now, wherever that was said: they are
// written anew behind the copy, as pi does with labels. Left behind are what is
// about the old session alone: its titles, counts, resets, messages that wait
// in its queue, and pieces of answers that are there whole. The header names
// the old session.
//
// What the copied answers cost was spent once, by the old session. So the copy
// ends with an entry of counts that begins from nothing, and says that all
// before it is copied; see [forkMark].
func (g *Gateway) Fork(ctx context.Context, id firn.ID, f wire.Fork) (wire.Session, error) {
	if err := g.MustBe(ctx, id); err != nil {
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
	b, at, err := g.forkPoint(ctx, id, string(f.At))
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
	return g.updated(g.session(ctx, header.Session))
}

// forkPoint finds the entry that a fork goes on from: its number in the tree,
// -1 if the session is empty.
func (g *Gateway) forkPoint(ctx context.Context, id firn.ID, ref string) (*view.Outline, int, error) {
	if ref == "" || ref == view.HeadName {
		if err := g.mustRest(id, "fork"); err != nil {
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
	b, err := g.OwnOutline(ctx, id)
	if err != nil {
		return nil, 0, fmt.Errorf("fork session %s: %w", id, err)
	}
	if target == "" {
		return b, b.Tree.Head(), nil
	}
	n := b.Tree.Find(target)
	if n == b.Tree.Head() {
		err = g.mustRest(id, "fork")
	}
	return b, n, err
}

// forkHeader makes the header of a fork.
func (g *Gateway) forkHeader(ctx context.Context, id firn.ID, key string) (firn.Header, error) {
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
	if header.Agent == "" { // somebody else wrote it; the store knows where it was found
		info, err := g.Info(ctx, id)
		if err != nil {
			return header, err
		}
		header.Agent = info.Agent
	}
	return header, nil
}

// forkTitle names a fork after the session it comes from, until somebody finds
// a better name.
func (g *Gateway) forkTitle(ctx context.Context, id firn.ID) ([]firn.Entry, error) {
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

// The types of entries in which package agent keeps the counts of a session,
// and what an answer cost that is not in the log.
const (
	countersType = firn.CountersType
	usageType    = "firn.usage"
)

// forkMark is the data of the entry of counts that ends the copy in a fork: the
// turns and compactions of the copied path, and no usage. Forked says where
// all before it was copied from, so that who adds up what sessions cost stops
// there.
type forkMark struct {
	agent.Counters
	// Entries is how many entries stand before the mark.
	Entries int              `json:"entries,omitempty"`
	Names   store.Checkpoint `json:"names"`
	Forked  *forkOrigin      `json:"forked,omitempty"`
}

type forkOrigin struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry,omitempty"`
	// Replaces is the session that the key of the fork pointed at before.
	Replaces firn.ID `json:"replaces,omitempty"`
}

// Bounds of what is copied with one append.
const (
	copyEntries = 2000
	copyBytes   = 8 << 20
)

// copier copies the path to an entry into a new session.
type copier struct {
	g    *Gateway
	from firn.ID
	b    *view.Outline
	at   int
	// path are the numbers of the entries to be copied, ids their ids.
	path map[int]bool
	ids  map[firn.EntryID]bool

	// copied are the ids in the copy, last the latest of them. left are the ids
	// of entries that were left out, and what was copied next.
	copied map[firn.EntryID]bool
	// written is how many entries the copy has so far.
	written int
	last    firn.EntryID
	left    map[firn.EntryID]firn.EntryID
	gone    []firn.EntryID
	count   agent.Counters
	state   store.Checkpoint

	id    firn.ID
	end   firn.Pos
	batch []firn.Entry
	size  int
	// veil is the tombstone that hides the copy while it is not whole.
	veil firn.EntryID
	// replaces is the session that the key of the fork pointed at before.
	replaces firn.ID
}

func newCopier(g *Gateway, from firn.ID, b *view.Outline, at int) *copier {
	c := &copier{
		g: g, from: from, b: b, at: at, path: make(map[int]bool), ids: make(map[firn.EntryID]bool),
		copied: make(map[firn.EntryID]bool), left: make(map[firn.EntryID]firn.EntryID),
	}
	for _, n := range b.Tree.Path(at) {
		c.path[n] = true
		c.ids[b.Tree.Node(n).ID] = true
	}
	return c
}

// run makes the copy. If it takes more than one append it is hidden until it is
// whole, so that a crash leaves nothing that could be taken for the session.
func (c *copier) run(ctx context.Context, header firn.Header, title []firn.Entry) error {
	c.id = header.Session
	c.batch = []firn.Entry{{Time: c.g.now(), Body: &header}}
	c.state.See(c.id, c.batch[0])
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
			if err := c.take(ctx, &rec); err != nil {
				return err
			}
		}
		n++
	}
	c.batch = append(c.batch, c.tail()...)
	c.batch = append(c.batch, title...)
	if c.veil != "" {
		c.batch = append(c.batch, firn.NewEntry(&firn.Tombstone{Target: c.veil, Reason: "the copy is whole"}))
	}
	if r, ok := requestOf(ctx); ok { // on the last entry: then the copy is whole
		last := &c.batch[len(c.batch)-1]
		last.Extra = append(slices.Clip(last.Extra), r.field())
	}
	return c.flush(ctx)
}

// take copies a record, unless it is to be left out or cannot be read.
func (c *copier) take(ctx context.Context, rec *firn.Record) error {
	e, err := rec.Entry()
	if err != nil || !c.wants(&e) {
		c.gone = append(c.gone, rec.Glance.ID)
		return nil
	}
	c.count.Add(e)
	old := e.ID
	if c.copied[e.ID] { // the file has the id twice
		e.ID = firn.NewEntryID()
	}
	if e.Parent = c.last; c.last == "" {
		e.Parent = firn.Root
	}
	if b, ok := e.Body.(*firn.Compaction); ok {
		e.Body = c.kept(*b, e.ID)
	}
	e.Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(f firn.Field) bool { return f.Name == acceptedField })
	for _, id := range c.gone {
		c.left[id] = e.ID
	}
	c.gone = c.gone[:0]
	c.copied[old], c.copied[e.ID], c.last = true, true, e.ID
	c.state.See(c.id, e)
	c.batch = append(c.batch, e)
	c.written++
	if c.size += len(rec.Line()); len(c.batch) >= copyEntries || c.size >= copyBytes {
		return c.pause(ctx)
	}
	return nil
}

// aboutOne reports whether custom entries of a type are about one session alone.
func aboutOne(kind string) bool {
	switch kind {
	case countersType, usageType, queuedType, resetType, store.KeyType:
		return true
	}
	return false
}

// wants reports whether an entry belongs into a fork.
func (c *copier) wants(e *firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Label, *firn.Title, *firn.Tombstone, *firn.Head:
		return false
	case *firn.Custom:
		return !aboutOne(b.Type) && !(b.Type == firn.DraftType && c.ids[draftOf(b)])
	}
	return true
}

// draftOf is the answer that a piece belongs to.
func draftOf(b *firn.Custom) firn.EntryID {
	var piece struct {
		Answer firn.EntryID `json:"answer"`
	}
	if json.Unmarshal(b.Data, &piece) != nil {
		return ""
	}
	return piece.Answer
}

// kept is a compaction whose first kept entry is in the copy: what was copied
// next where the entry itself was left out; nothing, which its own id means, if
// it is not on the path at all.
func (c *copier) kept(b firn.Compaction, own firn.EntryID) *firn.Compaction {
	if b.FirstKept == "" || c.copied[b.FirstKept] {
		return &b
	}
	next, ok := c.left[b.FirstKept]
	if !ok {
		next = own
	}
	b.FirstKept = next
	return &b
}

// tail is what is said anew behind the copy: the mark, what is hidden, and
// labels, each of what was copied.
func (c *copier) tail() []firn.Entry {
	mark := forkMark{
		Counters: agent.Counters{Turns: c.count.Turns, Messages: c.count.Messages, Compactions: c.count.Compactions, Window: c.count.Window},
		Entries:  c.written,
		Names:    c.state.Seal(),
		Forked:   &forkOrigin{Session: c.from, Replaces: c.replaces},
	}
	if c.at >= 0 {
		mark.Forked.Entry = c.b.Tree.Node(c.at).ID
	}
	entries := []firn.Entry{firn.NewEntry(&firn.Custom{Type: countersType, Data: spell(mark)})}
	if c.last == "" {
		entries[0].Parent = firn.Root
	} else {
		entries[0].Parent = c.last
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

// pause writes what was copied so far, hidden until the rest is there.
func (c *copier) pause(ctx context.Context) error {
	if c.veil == "" {
		veil := firn.NewEntry(&firn.Tombstone{Target: firn.EntryID(c.id), Reason: "the copy is not whole yet"})
		veil.Parent = firn.Root
		c.veil = veil.ID
		c.state.See(c.id, veil)
		c.batch = slices.Insert(c.batch, 1, veil)
		c.written++
	}
	return c.flush(ctx)
}

func (c *copier) flush(ctx context.Context) error {
	end, err := c.g.Store.Append(ctx, c.id, c.end, c.batch...)
	c.end, c.batch, c.size = end, c.batch[:0], 0
	return err
}
