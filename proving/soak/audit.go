//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

// place is the position of a message: the number of its entry, and its index in the entry
// if several messages were merged.
type place struct{ entry, part int }

// book is the part of a session that an auditor has read. It reads incrementally.
type book struct {
	id     firn.ID
	at     firn.Pos
	parent firn.EntryID
	count  int
	// places are the positions of messages, and notes the number of occurrences of each
	// note.
	places map[firn.EntryID][]place
	notes  map[string]int
	// queued are messages that are or were queued.
	queued map[firn.EntryID]bool
	// entries are the entries that followers receive, in order.
	entries []string
	// heads is the number of head moves, and forks the entries that do not follow the
	// previous one for another reason.
	heads int
	forks []string
	fork  bool // a copy of another session
	gaps  []string
}

func newBook(id firn.ID) *book {
	return &book{id: id, places: make(map[firn.EntryID][]place), notes: make(map[string]int), queued: make(map[firn.EntryID]bool)}
}

// read reads new entries up to the end.
func (b *book) read(ctx context.Context, st store.Store) error {
	for rec, err := range st.Read(ctx, b.id, b.at) {
		if err != nil {
			return err
		}
		if rec.Gap != nil {
			if rec.Gap.Unfinished() {
				return nil
			}
			b.gaps = append(b.gaps, rec.Gap.Error())
			b.at = rec.Next
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			return err
		}
		b.take(e)
		b.at = rec.Next
	}
	return nil
}

// take records an entry.
func (b *book) take(e firn.Entry) {
	if h, ok := e.Body.(*firn.Header); ok {
		b.entries = append(b.entries, string(h.Session))
		b.fork = h.ParentSession != ""
		return
	}
	b.count++
	switch {
	case e.Body.Kind() == firn.KindHead || e.Body.Kind() == firn.KindBranchSummary:
		if e.Body.Kind() == firn.KindHead || e.Parent != b.parent {
			b.heads++
		}
	case e.Parent != b.parent:
		b.forks = append(b.forks, fmt.Sprintf("%s %s follows %s, not %s", e.Body.Kind(), e.ID, e.Parent, b.parent))
	}
	b.parent = e.ID
	if c, ok := e.Body.(*firn.Custom); !ok || c.Type != firn.DraftType {
		b.entries = append(b.entries, string(e.ID))
	}
	switch body := e.Body.(type) {
	case *firn.Message:
		if body.Role == firn.RoleUser {
			b.addMessages(e)
		}
	case *firn.CustomMessage: // a message of a program
		b.addMessages(e)
	case *firn.Custom:
		b.custom(body)
	}
}

// addMessages records the messages in an entry.
func (b *book) addMessages(e firn.Entry) {
	var together []firn.EntryID
	if raw := e.Extra.Get("collected"); raw != nil {
		if err := json.Unmarshal(raw, &together); err != nil {
			b.gaps = append(b.gaps, fmt.Sprintf("entry %s: %v", e.ID, err))
		}
	}
	if !slices.Contains(together, e.ID) {
		together = append(together, e.ID)
	}
	for i, id := range together {
		b.places[id] = append(b.places[id], place{b.count, i})
	}
}

func (b *book) custom(c *firn.Custom) {
	switch c.Type {
	case "note":
		var data struct{ Text string }
		if json.Unmarshal(c.Data, &data) == nil {
			b.notes[data.Text]++
		}
	case "firn.queued":
		var data struct{ ID firn.EntryID }
		if json.Unmarshal(c.Data, &data) == nil {
			b.queued[data.ID] = true
		}
	}
}

// auditor compares the files with the acknowledgments that clients received.
type auditor struct {
	home  string
	books map[firn.ID]*book
	// strict are the sessions whose head is never moved.
	strict []firn.ID
}

// audit reads new entries, and returns the errors it finds. At the end no message may be
// queued, and everything is read from the beginning.
func (a *auditor) audit(ctx context.Context, t expected, end bool) ([]string, error) {
	st, err := filestore.Open(a.home, filestore.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if end || a.books == nil {
		a.books = make(map[firn.ID]*book)
	}
	var wrong []string
	for info, err := range st.List(ctx, store.Query{}) {
		if err != nil {
			return nil, err
		}
		if a.books[info.ID] == nil {
			a.books[info.ID] = newBook(info.ID)
		}
	}
	for id, b := range a.books {
		if err := b.read(ctx, st); err != nil {
			return nil, fmt.Errorf("read session %s: %w", id, err)
		}
		for _, gap := range b.gaps {
			wrong = append(wrong, fmt.Sprintf("session %s is damaged: %s", id, gap))
		}
		wrong = append(wrong, windows(ctx, st, id)...)
	}
	return slices.Concat(wrong, a.shape(t), a.messages(t, end), a.notes(t)), nil
}

// windows checks that a session can be sent to every provider.
func windows(ctx context.Context, st store.Store, id firn.ID) (wrong []string) {
	path, err := window.Collect(st.ReadBack(ctx, id, store.End))
	if err != nil {
		return []string{fmt.Sprintf("read session %s backwards: %v", id, err)}
	}
	for _, profile := range window.Profiles() {
		// The role of the last message is irrelevant here.
		err := windowtest.Check(profile, window.Build(path, window.Options{Profile: profile}))
		if err != nil && !strings.Contains(err.Error(), "ends with") && !strings.Contains(err.Error(), "no messages") {
			wrong = append(wrong, fmt.Sprintf("the window of session %s for %s: %v", id, profile.Name, err))
		}
	}
	return wrong
}

// shape checks that there are no unexpected branches.
func (a *auditor) shape(t expected) (wrong []string) {
	for id, b := range a.books {
		switch {
		case slices.Contains(a.strict, id) || t.moves[id] == 0 && !b.fork:
			for _, f := range b.forks {
				wrong = append(wrong, fmt.Sprintf("session %s is forked: %s", id, f))
			}
			if b.heads > 0 && slices.Contains(a.strict, id) {
				wrong = append(wrong, fmt.Sprintf("the head of session %s was moved %d times without a request", id, b.heads))
			}
		case b.fork: // copied with its branches
		case b.heads < t.moved[id] || b.heads > 2*t.moves[id]: // a summary is a separate entry
			wrong = append(wrong, fmt.Sprintf("the head of session %s was moved %d times, %d were acknowledged and %d asked for", id, b.heads, t.moved[id], t.moves[id]))
		case len(b.forks) > t.moves[id]: // an answer that was appended while the head was moved
			wrong = append(wrong, fmt.Sprintf("session %s has %d branches and %d moves: %s", id, len(b.forks), t.moves[id], strings.Join(b.forks, "; ")))
		}
	}
	return wrong
}

// messages checks that each message exists once, in its session, and that the messages of a
// client are in order.
func (a *auditor) messages(t expected, end bool) (wrong []string) {
	type lane struct {
		client  string
		session firn.ID
	}
	last := make(map[lane]place)
	for _, what := range t.sent {
		b := a.books[what.session]
		if b == nil {
			wrong = append(wrong, fmt.Sprintf("session %s, in which %q was acknowledged, is not there", what.session, what.text))
			continue
		}
		at := b.places[what.id]
		// A message that is queued when the head moves stays on the old branch.
		if len(at) == 0 && b.queued[what.id] && (!end || t.moves[what.session] > 0) {
			continue
		}
		if len(at) != 1 {
			wrong = append(wrong, fmt.Sprintf("%q, %s, was acknowledged in session %s and is there %d times", what.text, what.id, what.session, len(at)))
			continue
		}
		l := lane{what.client, what.session}
		if before := last[l]; at[0].entry < before.entry || at[0].entry == before.entry && at[0].part < before.part {
			wrong = append(wrong, fmt.Sprintf("%q precedes an earlier message of %s in session %s", what.text, what.client, what.session))
		}
		last[l] = at[0]
	}
	return append(wrong, a.duplicates()...)
}

// duplicates returns the messages that are in two sessions, neither of which is a copy.
func (a *auditor) duplicates() (wrong []string) {
	in := make(map[firn.EntryID]firn.ID)
	for id, b := range a.books {
		if b.fork {
			continue
		}
		for message := range b.places {
			if other, ok := in[message]; ok {
				wrong = append(wrong, fmt.Sprintf("message %s is in session %s and in session %s", message, min(id, other), max(id, other)))
			}
			in[message] = id
		}
	}
	return wrong
}

func (a *auditor) notes(t expected) (wrong []string) {
	for _, what := range t.noted {
		if b := a.books[what.session]; b == nil || b.notes[what.text] != 1 {
			wrong = append(wrong, fmt.Sprintf("%q was acknowledged in session %s and is not there once", what.text, what.session))
		}
	}
	for _, what := range t.lost {
		if b := a.books[what.session]; b != nil && b.notes[what.text] > 1 {
			wrong = append(wrong, fmt.Sprintf("%q was sent once and is there %d times", what.text, b.notes[what.text]))
		}
	}
	for _, id := range t.made {
		if a.books[id] == nil {
			wrong = append(wrong, fmt.Sprintf("session %s was acknowledged and is not there", id))
		}
	}
	return wrong
}
