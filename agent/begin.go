package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/window"
)

// begin reads the session and makes the user's message durable.
func (t *turn) begin() error {
	started, batch, err := t.introduce()
	for conflicts(err) { // somebody else wrote, perhaps this very message
		t.opened, t.path, t.log = false, window.Path{}, t.log.anew()
		started, batch, err = t.introduce()
	}
	if err != nil {
		return err
	}
	t.began, t.user = true, started.Entry
	t.emit(started)
	for _, e := range batch {
		t.emit(Appended{Entry: e, End: t.log.end})
	}
	return t.collect()
}

// introduce reads the session and stores what the turn begins with, unless
// somebody else writes meanwhile. If the turn before broke off in the middle
// of an answer, what was kept of it is marked so first.
func (t *turn) introduce() (started Started, batch []firn.Entry, err error) {
	if err := t.open(); err != nil {
		return started, nil, err
	}
	started.Session = t.log.id
	batch = t.header()
	if sealed, ok := t.seal(); ok {
		batch = append(batch, sealed)
		started.Recovered = true
	}
	said, err := t.hearUser(&started)
	if err != nil {
		return started, nil, err
	}
	if batch = append(batch, said...); len(batch) > 0 {
		err = t.log.try(t.ctx, t.log.st.Append, batch)
	}
	return started, batch, err
}

// header makes the header of a session that is not there yet.
func (t *turn) header() []firn.Entry {
	if t.path.End != store.Start {
		return nil
	}
	return []firn.Entry{{Body: &firn.Header{Session: t.log.id, Agent: t.a.name(), CWD: t.a.Workspace}}}
}

// hearUser settles what the turn is about and returns the entries to be
// stored: none if the message is there already, or if the turn goes on with
// what was not answered.
func (t *turn) hearUser(started *Started) ([]firn.Entry, error) {
	if len(t.in.Parts) == 0 {
		if !unanswered(t.path) {
			return nil, fmt.Errorf("go on with session %s: nothing is left to answer: %w", t.log.id, firn.ErrInvalid)
		}
		t.said = lastSaid(t.path)
		return nil, nil
	}
	if blankParts(t.in.Parts) {
		return nil, fmt.Errorf("begin a turn of session %s: nothing is said: %w", t.log.id, firn.ErrInvalid)
	}
	t.said = firn.JoinText(t.in.Parts)
	known, err := t.knows(t.in.ID)
	if err != nil {
		return nil, err
	}
	if !known {
		user := t.userEntry()
		started.Entry = user.ID
		return append([]firn.Entry{user}, t.firstTitle()...), nil
	}
	started.Entry, started.Repeated = t.in.ID, true
	if answered(t.path, t.in.ID) {
		return nil, fmt.Errorf("answer entry %s of session %s: it was answered already: %w", t.in.ID, t.log.id, firn.ErrConflict)
	}
	return nil, nil
}

// knows reports whether the session has an entry of that name: on the path, or
// further back, as far as a message of that name may be.
func (t *turn) knows(id firn.EntryID) (bool, error) {
	if id == "" || holds(t.path, id) {
		return id != "", nil
	}
	since := store.Heard(id, t.a.now())
	if t.path.Start == store.Start || len(t.path.Entries) > 0 && since.After(born(t.path.Entries[0])) {
		return false, nil
	}
	for rec, err := range store.Recent(t.ctx, t.a.Store, t.log.id, t.path.Start, since) {
		if err != nil {
			return false, fmt.Errorf("look for entry %s of session %s: %w", id, t.log.id, err)
		}
		if rec.Gap == nil && rec.Glance.ID == id {
			return true, nil
		}
	}
	return false, nil
}

// open reads the live part of the session; a session that is not there yet
// begins.
func (t *turn) open() error {
	if t.a.Resident != nil {
		if path, ok := t.a.Resident.Load(t.log.id); ok {
			t.path, t.opened = path, true
			t.log.end, t.log.head = path.End, path.Head
		}
	}
	err := t.collect()
	if err != nil && t.opened { // what was kept is of no use: the head was moved, or the files are others
		t.opened, t.path, t.log = false, window.Path{}, t.log.anew()
		err = t.collect()
	}
	if err != nil {
		if !errors.Is(err, firn.ErrNotFound) {
			return err
		}
		t.path = window.Path{}
	}
	t.first = t.path.Compaction == nil && !slices.ContainsFunc(t.path.Entries, func(e firn.Entry) bool {
		_, said := saidBy(e, firn.RoleUser)
		return said
	})
	return nil
}

// reside keeps the live part of the session for its next turn.
func (t *turn) reside() {
	if t.a.Resident == nil || t.log.moved != "" {
		return
	}
	ctx, cancel := afterwards(t.ctx)
	defer cancel()
	t.ctx = ctx
	if t.collect() == nil {
		t.a.Resident.Keep(t.log.id, t.path)
	}
}

// born is when an entry was made, by its name if that tells it.
func born(e firn.Entry) time.Time {
	if made, ok := e.ID.Made(); ok {
		return made
	}
	return e.Time
}

// userEntry makes the entry of what the user says.
func (t *turn) userEntry() firn.Entry {
	e := firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: t.in.Parts, Time: t.a.now()})
	if t.in.ID != "" {
		e.ID = t.in.ID
	}
	e.Extra = t.in.Extra
	return e
}

// saidBy returns the message of an entry if that role said it.
func saidBy(e firn.Entry, role firn.Role) (*firn.Message, bool) {
	m, ok := e.Body.(*firn.Message)
	return m, ok && m.Role == role
}

// unanswered reports whether the model's turn is next: the user or a tool had
// the last word, an answer broke off, or the user spoke while it was given.
func unanswered(p window.Path) bool {
	for i, e := range slices.Backward(p.Entries) {
		switch b := e.Body.(type) {
		case *firn.CustomMessage:
			return true
		case *firn.Message:
			switch b.Role {
			case firn.RoleUser, firn.RoleToolResult, firn.RoleShell:
				return true
			case firn.RoleAssistant:
				return !final(b) || overheard(p.Entries[:i], e)
			}
		}
	}
	return p.Compaction != nil // which has what was asked
}

// Unfinished reports whether a path ends in the middle of a turn: the model's
// turn is next, and nothing says that it failed or was stopped. That is what a
// crash leaves. What the user did in a shell is for the next turn, and begins none.
func Unfinished(p window.Path) bool {
	p.Entries = withoutShell(p.Entries)
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := saidBy(e, firn.RoleAssistant); ok && m.Error != "" {
			return false
		}
		if k := e.Body.Kind(); k == firn.KindMessage || k == firn.KindCustomMessage {
			break
		}
	}
	return unanswered(p)
}

// withoutShell is a path without what was done in a shell after the last message.
func withoutShell(entries []firn.Entry) []firn.Entry {
	for i, e := range slices.Backward(entries) {
		k := e.Body.Kind()
		if _, shell := saidBy(e, firn.RoleShell); !shell && (k == firn.KindMessage || k == firn.KindCustomMessage) {
			return entries[:i+1]
		}
	}
	return nil
}

// answered reports whether a whole answer stands behind an entry, or whether
// the entry is so old that a summary stands for it and for what came of it.
func answered(p window.Path, id firn.EntryID) bool {
	i := slices.IndexFunc(p.Entries, func(e firn.Entry) bool { return e.ID == id })
	if i < 0 {
		return !unanswered(p)
	}
	return slices.ContainsFunc(p.Entries[i:], func(e firn.Entry) bool {
		m, ok := saidBy(e, firn.RoleAssistant)
		return ok && final(m) && !overheard(p.Entries[i:], e)
	})
}

// final reports whether an answer is whole, says something and asks for
// nothing.
func final(m *firn.Message) bool {
	return m.StopReason != firn.StopError && m.StopReason != firn.StopAborted && len(callsOf(m)) == 0 && !blankParts(m.Parts)
}

// overheard reports whether the user said something, among the entries before
// an answer, that the answer does not know of.
func overheard(before []firn.Entry, answer firn.Entry) bool {
	knew := window.Knew(answer)
	if knew == "" {
		return false
	}
	for _, e := range slices.Backward(before) {
		if e.ID == knew {
			return false
		}
		if _, ok := saidBy(e, firn.RoleUser); ok {
			return true
		}
	}
	return true // what it knew of was summed up, and with it what it did not know of
}

// blankParts reports whether nothing is said: no text but space, no image, no
// part that we do not know.
func blankParts(parts []firn.Part) bool {
	return !slices.ContainsFunc(parts, func(p firn.Part) bool {
		switch p := p.(type) {
		case firn.Text:
			return strings.TrimSpace(p.Text) != ""
		case firn.Image, firn.OpaquePart:
			return true
		}
		return false
	})
}

// lastSaid is the last thing the user said.
func lastSaid(p window.Path) string {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := saidBy(e, firn.RoleUser); ok {
			return m.Text()
		}
	}
	return ""
}

// firstTitle names a session after the first thing said in it.
func (t *turn) firstTitle() []firn.Entry {
	if !t.first || t.a.NoTitles || titled(t.path) || t.path.End != store.Start && userTitled(t.ctx, t.a.Store, t.log.id) {
		return nil
	}
	name := promptTitle(t.said)
	if name == "" {
		return nil
	}
	return []firn.Entry{firn.NewEntry(&firn.Title{Name: name, Source: firn.SourceAuto})}
}

// titled reports whether the path has a title.
func titled(p window.Path) bool {
	return slices.ContainsFunc(p.Entries, func(e firn.Entry) bool {
		title, ok := e.Body.(*firn.Title)
		return ok && title.Name != ""
	})
}

// titleLen bounds a title in characters.
const titleLen = 60

// promptTitle makes a title of what the user said: its first line, cut at a
// word.
func promptTitle(said string) string {
	line := strings.Join(strings.Fields(firstLine(said)), " ")
	runes := []rune(line)
	if len(runes) <= titleLen {
		return line
	}
	cut := string(runes[:titleLen-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*6/10 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}

// firstLine is the first line that has something in it.
func firstLine(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}
