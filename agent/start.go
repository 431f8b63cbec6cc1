package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/title"
	"firn.dev/internal/find/lookback"
	"firn.dev/store"
	"firn.dev/window"
)

// starter starts a turn: it opens the session and stores the user's message.
type starter struct{ *turn }

// startTurn reads the session and makes the user's message durable.
func (t starter) startTurn() error {
	started, batch, err := t.tryStart()
	for isConflict(err) { // another writer appended, possibly this very message
		t.opened, t.path, t.log = false, window.Path{}, t.log.fresh()
		started, batch, err = t.tryStart()
	}
	if err != nil {
		return err
	}
	t.began, t.user = true, started.Entry
	t.emit(started)
	for _, e := range batch {
		t.emit(Appended{Entry: e, End: t.log.end})
	}
	return t.refreshPath()
}

// tryStart reads the session and appends the first entries of the turn. It fails with a
// conflict if another writer appended meanwhile. If the previous turn was interrupted in
// the middle of an answer, the stored chunks are turned into a marked answer first.
func (t starter) tryStart() (started Started, batch []firn.Entry, err error) {
	if err := t.loadPath(); err != nil {
		return started, nil, err
	}
	started.Session = t.log.id
	batch = t.header()
	if sealed, ok := t.recoverDraft(); ok {
		batch = append(batch, sealed)
		started.Recovered = true
	}
	input, err := t.inputEntries(&started)
	if err != nil {
		return started, nil, err
	}
	if batch = append(batch, input...); len(batch) > 0 {
		err = t.log.tryAppend(t.ctx, t.log.st.Append, batch)
	}
	return started, batch, err
}

// header returns the header entry if the session does not exist yet.
func (t starter) header() []firn.Entry {
	if t.path.End != store.Start {
		return nil
	}
	return []firn.Entry{{Body: &firn.Header{Session: t.log.id, Agent: t.a.name(), CWD: t.a.Workspace}}}
}

// inputEntries determines the input of the turn and returns the entries to store. There are
// none if the message is already stored or if the turn continues an unanswered message.
func (t starter) inputEntries(started *Started) ([]firn.Entry, error) {
	if len(t.in.Parts) == 0 {
		if !unanswered(t.path) {
			return nil, failure.Of(firn.ErrInvalid, "continue session %s: nothing is left to answer", t.log.id)
		}
		t.prompt = lastUserText(t.path)
		return nil, nil
	}
	if blankParts(t.in.Parts) {
		return nil, failure.Of(firn.ErrInvalid, "start a turn of session %s: the message is empty", t.log.id)
	}
	t.prompt = firn.JoinText(t.in.Parts)
	known, err := t.hasEntry(t.in.ID)
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

// hasEntry reports whether the session has an entry with that ID, on the path or further
// back, as far as such an entry can be.
func (t starter) hasEntry(id firn.EntryID) (bool, error) {
	if id == "" || containsEntry(t.path, id) {
		return id != "", nil
	}
	since := lookback.EarliestAppend(id, t.a.now())
	if t.path.Start == store.Start || len(t.path.Entries) > 0 && since.After(createdAt(t.path.Entries[0])) {
		return false, nil
	}
	for rec, err := range lookback.Records(t.ctx, t.a.Store, t.log.id, t.path.Start, since) {
		if err != nil {
			return false, fmt.Errorf("find entry %s of session %s: %w", id, t.log.id, err)
		}
		if rec.Gap == nil && rec.Glance.ID == id {
			return true, nil
		}
	}
	return false, nil
}

// loadPath reads the live part of the session. A session that does not exist yet has an
// empty path.
func (t starter) loadPath() error {
	if t.a.Resident != nil {
		if path, ok := t.a.Resident.Load(t.log.id); ok {
			t.path, t.opened = path, true
			t.log.end, t.log.head = path.End, path.Head
		}
	}
	err := t.refreshPath()
	if err != nil && t.opened { // the cached path is unusable: the head was moved or the files were replaced
		t.opened, t.path, t.log = false, window.Path{}, t.log.fresh()
		err = t.refreshPath()
	}
	if err != nil {
		if !errors.Is(err, firn.ErrNotFound) {
			return err
		}
		t.path = window.Path{}
	}
	t.first = t.path.Compaction == nil && !slices.ContainsFunc(t.path.Entries, func(e firn.Entry) bool {
		_, isUser := messageWithRole(e, firn.RoleUser)
		return isUser
	})
	return nil
}

// keepResident caches the live part of the session for its next turn.
func (t *turn) keepResident() {
	if t.a.Resident == nil || t.log.moved != "" {
		return
	}
	ctx, cancel := cleanupContext(t.ctx)
	defer cancel()
	t.ctx = ctx
	if t.refreshPath() == nil {
		t.a.Resident.Keep(t.log.id, t.path)
	}
}

// createdAt returns the creation time of an entry, taken from its ID if possible.
func createdAt(e firn.Entry) time.Time {
	if made, ok := e.ID.Time(); ok {
		return made
	}
	return e.Time
}

// userEntry returns the entry of the user's message.
func (t starter) userEntry() firn.Entry {
	e := firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: t.in.Parts, Time: t.a.now()})
	if t.in.ID != "" {
		e.ID = t.in.ID
	}
	e.Extra = t.in.Extra
	return e
}

// messageWithRole returns the message of an entry and reports whether it has that role.
func messageWithRole(e firn.Entry, role firn.Role) (*firn.Message, bool) {
	m, ok := e.Body.(*firn.Message)
	return m, ok && m.Role == role
}

// unanswered reports whether the model has to answer next: the last message is from the
// user or a tool, an answer was interrupted, or the user sent a message while it streamed.
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
				return !isFinal(b) || missedInput(p.Entries[:i], e)
			}
		}
	}
	return p.Compaction != nil // the summary contains the question
}

// Unfinished reports whether a path ends in the middle of a turn, as after a crash: the
// model has to answer next and no failure or stop is recorded. Shell commands of the user
// belong to the next turn and do not count.
func Unfinished(p window.Path) bool {
	p.Entries = withoutShell(p.Entries)
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := messageWithRole(e, firn.RoleAssistant); ok && m.Error != "" {
			return false
		}
		if k := e.Body.Kind(); k == firn.KindMessage || k == firn.KindCustomMessage {
			break
		}
	}
	return unanswered(p)
}

// withoutShell returns the entries up to the last message that is not a shell command.
func withoutShell(entries []firn.Entry) []firn.Entry {
	for i, e := range slices.Backward(entries) {
		k := e.Body.Kind()
		if _, shell := messageWithRole(e, firn.RoleShell); !shell && (k == firn.KindMessage || k == firn.KindCustomMessage) {
			return entries[:i+1]
		}
	}
	return nil
}

// answered reports whether a complete answer follows an entry, or whether the entry is old
// enough to be part of a summary together with its answer.
func answered(p window.Path, id firn.EntryID) bool {
	i := slices.IndexFunc(p.Entries, func(e firn.Entry) bool { return e.ID == id })
	if i < 0 {
		return !unanswered(p)
	}
	return slices.ContainsFunc(p.Entries[i:], func(e firn.Entry) bool {
		m, ok := messageWithRole(e, firn.RoleAssistant)
		return ok && isFinal(m) && !missedInput(p.Entries[i:], e)
	})
}

// isFinal reports whether an answer is complete, not blank and without tool calls.
func isFinal(m *firn.Message) bool {
	return m.StopReason != firn.StopError && m.StopReason != firn.StopAborted && len(callsOf(m)) == 0 && !blankParts(m.Parts)
}

// missedInput reports whether before contains a user message that the answer was not based
// on.
func missedInput(before []firn.Entry, answer firn.Entry) bool {
	seen := window.LastSeen(answer)
	if seen == "" {
		return false
	}
	for _, e := range slices.Backward(before) {
		if e.ID == seen {
			return false
		}
		if _, ok := messageWithRole(e, firn.RoleUser); ok {
			return true
		}
	}
	return true // both were summarized
}

// blankParts reports whether parts contain no text other than space, no image and no
// unknown part.
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

// lastUserText returns the text of the last user message.
func lastUserText(p window.Path) string {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := messageWithRole(e, firn.RoleUser); ok {
			return m.Text()
		}
	}
	return ""
}

// firstTitle returns a title entry made from the first message of a session.
func (t starter) firstTitle() []firn.Entry {
	if !t.first || t.a.NoTitles || titled(t.path) || t.path.End != store.Start && userTitled(t.ctx, t.a.Store, t.log.id) {
		return nil
	}
	name := promptTitle(t.prompt)
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

// titleLen is the maximum length of a title in characters.
const titleLen = 60

// promptTitle makes a title from a user message: its first line, or the words that matter in
// it if the line is too long or is only a greeting.
func promptTitle(prompt string) string {
	line := strings.Join(strings.Fields(firstLine(prompt)), " ")
	if n := len([]rune(line)); n <= titleLen && (n > shortTitle || strings.TrimSpace(prompt) == line) {
		return line
	}
	return cmp.Or(title.Of(prompt), firn.CutText(line, titleLen))
}

// shortTitle is the length of a first line that says too little, such as a greeting, if more
// lines follow.
const shortTitle = 15

// firstLine returns the first line that is not blank.
func firstLine(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}
