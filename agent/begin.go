package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn"
	"firn/window"
)

// begin reads the session and makes the user's message durable. If the turn
// before broke off in the middle of an answer, what was kept of it is marked
// so first.
func (t *turn) begin() error {
	if err := t.open(); err != nil {
		return err
	}
	started := Started{Session: t.log.id}
	var batch []firn.Entry
	if sealed, ok := t.seal(); ok {
		batch = append(batch, sealed)
		started.Recovered = true
	}
	if len(t.in.Parts) == 0 {
		if !unanswered(t.path) {
			return fmt.Errorf("go on with session %s: nothing is left to answer: %w", t.log.id, firn.ErrInvalid)
		}
		t.said = lastSaid(t.path)
	} else {
		t.said = firn.JoinText(t.in.Parts)
		started.Entry, started.Repeated = t.in.ID, t.in.ID != "" && holds(t.path, t.in.ID)
		if !started.Repeated {
			user := t.user()
			started.Entry = user.ID
			batch = append(append(batch, user), t.firstTitle()...)
		} else if !unanswered(t.path) {
			return fmt.Errorf("answer entry %s of session %s: it was answered already: %w", t.in.ID, t.log.id, firn.ErrConflict)
		}
	}
	if len(batch) > 0 {
		if err := t.log.append(t.ctx, batch...); err != nil {
			return err
		}
	}
	t.began = true
	t.emit(started)
	for _, e := range batch {
		t.emit(Appended{Entry: e, End: t.log.end})
	}
	return t.collect()
}

// open reads the live part of the session; a session that is not there yet
// begins.
func (t *turn) open() error {
	if err := t.collect(); err != nil {
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

// user makes the entry of what the user says.
func (t *turn) user() firn.Entry {
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
// the last word, or an answer broke off.
func unanswered(p window.Path) bool {
	for _, e := range slices.Backward(p.Entries) {
		switch b := e.Body.(type) {
		case *firn.CustomMessage:
			return true
		case *firn.Message:
			switch b.Role {
			case firn.RoleUser, firn.RoleToolResult, firn.RoleShell:
				return true
			case firn.RoleAssistant:
				return b.StopReason == firn.StopError || b.StopReason == firn.StopAborted || len(callsOf(b)) > 0 || blank(b)
			}
		}
	}
	return p.Compaction != nil // which has what was asked
}

// blank reports whether an answer says nothing.
func blank(m *firn.Message) bool { return strings.TrimSpace(m.Text()) == "" }

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
	if !t.first || t.a.NoTitles || titled(t.path) {
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
