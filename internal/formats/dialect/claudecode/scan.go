package claudecode

import (
	"fmt"
	"hash/maphash"
	"path"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// scanner reads a transcript. It orders entries as Claude Code would send them. See thread
// for the parents of entries and reply for the lines that are held back.
type scanner struct {
	from   dialect.Origin
	thread thread
	reply  *reply
	// boundary is that of a compaction whose summary has not been read yet.
	boundary *boundary

	out     []firn.Entry
	number  int
	started bool
	// sub is set if the file is a sub-agent's: its sidechain lines are then the
	// conversation.
	sub, decided bool
	now          time.Time
	cwd, branch  string
	title        firn.Title
	// calls maps call IDs to tool names.
	calls map[string]string
	// usage maps response IDs to the line that has the usage.
	usage map[string]string
	seed  maphash.Seed
}

// maxHeaderLines is the number of lines to wait for one with the session's directory and
// time.
const maxHeaderLines = 64

func newScanner(from dialect.Origin) *scanner {
	s := &scanner{
		from: from, thread: newThread(), calls: make(map[string]string), usage: make(map[string]string), seed: maphash.MakeSeed(),
		title: firn.Title{Name: from.Title, Source: firn.SourceUser},
	}
	if from.Title != "" {
		title := s.title
		s.add(firn.Entry{ID: s.thread.uniqueID("title"), Body: &title}) // it is stored in a separate file
	}
	if from.Sub || isSubPath(s.path()) {
		s.sub, s.decided = true, true
	}
	return s
}

// path returns the path of the transcript, "" if unknown.
func (s *scanner) path() string {
	if len(s.from.Parts) == 0 {
		return ""
	}
	return s.from.Parts[0]
}

// Scan reads the next line.
func (s *scanner) Scan(data []byte) ([]firn.Entry, error) {
	s.number++
	if s.started {
		s.out = s.out[:0]
	}
	l, err := readLine(data)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", s.number, err)
	}
	if !l.at.IsZero() {
		s.now = l.at
	}
	s.line(&l, data)
	return s.readyEntries(&l), nil
}

// Finish returns the entries held back.
func (s *scanner) Finish() []firn.Entry {
	if s.started {
		s.out = s.out[:0]
	}
	s.releaseReply("")
	s.dropBoundary()
	if !s.started && s.number > 0 {
		s.addHeader(&line{})
	}
	return s.out
}

// readyEntries returns the completed entries, or none until the session's directory and
// time are known: the header must be first.
func (s *scanner) readyEntries(l *line) []firn.Entry {
	if s.started {
		return s.out
	}
	if l.cwd == "" && !(l.chained() && l.uuid != "") && s.number < maxHeaderLines {
		return nil
	}
	s.addHeader(l)
	return s.out
}

// addHeader inserts the header before the entries read so far.
func (s *scanner) addHeader(l *line) {
	s.started = true
	id := s.from.ID
	if id == "" {
		id = idOf(s.path(), l.session)
	}
	header := firn.Entry{Time: s.now, Body: &firn.Header{
		Session: id, Version: 3, CWD: l.cwd, ParentSession: string(s.from.Parent), Agent: s.from.Agent, Key: s.from.Key,
	}}
	if header.Body.(*firn.Header).CWD == "" {
		header.Body.(*firn.Header).CWD = s.from.CWD
	}
	s.cwd = l.cwd
	if len(s.out) > 0 && !s.out[0].Time.IsZero() {
		header.Time = s.out[0].Time
	}
	for i := range s.out {
		if s.out[i].Time.IsZero() {
			s.out[i].Time = header.Time
		}
	}
	s.out = append([]firn.Entry{header}, s.out...)
}

// idOf derives a session's ID from its file name or its session member. Claude Code names
// its files after the session or the sub-agent; other file names are not its own.
func idOf(file, session string) firn.ID {
	stem := strings.TrimSuffix(path.Base(file), ".jsonl")
	names := []string{session, stem}
	if dialect.IsUUID(stem) || strings.HasPrefix(stem, "agent-") {
		names = []string{stem, session}
	}
	for _, name := range names {
		if id := firn.ID(name); file+session != "" && id.Check() == nil {
			return id
		}
	}
	return "claude-code"
}

// line processes one line.
func (s *scanner) line(l *line, data []byte) {
	if l.kind == "firn" {
		s.private(l, data)
		return
	}
	if l.chained() && !s.isForeignSidechain(l) {
		s.chain(l, data)
		return
	}
	s.metadata(l, data)
}

// isForeignSidechain reports whether the line belongs to a sub-agent recorded in its
// parent's file. A file that begins with such lines is the sub-agent's own.
func (s *scanner) isForeignSidechain(l *line) bool {
	if !s.decided {
		s.sub, s.decided = l.sidechain, true
	}
	if s.sub && !l.sidechain && l.kind != "progress" {
		s.sub = s.from.Sub || isSubPath(s.path())
	}
	return l.sidechain && !s.sub
}

// chain processes a line of the chain.
func (s *scanner) chain(l *line, data []byte) {
	s.thread.markFollowed(l.parent)
	switch {
	case l.kind == "system" && l.subtype == "compact_boundary":
		s.releaseReply(l.logical)
		s.dropBoundary()
		s.boundary = newBoundary(l, data, s.number)
	case s.boundary != nil && l.kind == "user" && l.summary && (l.parent == s.boundary.uuid || !l.hasParent):
		s.compaction(l)
	case l.copyOf != "":
		s.carryCopy(l, data)
	case boolOf(l.firn, "synthetic"):
		s.carry(l, data, "synthetic")
	case s.isConversation(l):
		s.addMessage(l, data)
	default:
		s.carry(l, data, l.label())
	}
}

// isConversation reports whether a line is part of the conversation.
func (s *scanner) isConversation(l *line) bool {
	switch l.kind {
	case "user", "assistant":
		return len(l.message) > 0 && l.message[0] == '{'
	case "attachment":
		return textOf(l.attachment, "type") == "queued_command" && valueOf(l.attachment, "prompt") != nil
	}
	return false
}

// metadata processes a line outside the chain, or of a foreign sidechain.
func (s *scanner) metadata(l *line, data []byte) {
	switch {
	case l.sidechain && l.chained():
		s.add(s.custom(l, data, "sidechain"))
	case l.kind == "custom-title" && l.hasTitle:
		s.readTitle(l, data, firn.SourceUser)
	case l.kind == "ai-title" && l.hasTitle:
		s.readTitle(l, data, firn.SourceAuto)
	case l.kind == "summary" && l.hasTitle && s.thread.has(l.leaf):
		s.readTitle(l, data, firn.SourceAuto)
	case l.kind == "last-prompt" && s.thread.isTip(l.leaf):
		e := s.custom(l, data, l.kind)
		e.Parent = s.thread.move(l.leaf)
		s.push(e)
	default:
		s.add(s.custom(l, data, l.label()))
	}
}

// readTitle adds a title. Claude Code repeats titles now and then; a repeated title is
// carried.
func (s *scanner) readTitle(l *line, data []byte, by firn.Source) {
	title := firn.Title{Name: l.title, Source: by}
	if title == s.title {
		s.add(s.custom(l, data, l.kind))
		return
	}
	s.title = title
	s.add(firn.Entry{ID: s.id(l), Time: s.now, Body: &title})
}

// carry adds a line of the chain that is not part of the conversation.
func (s *scanner) carry(l *line, data []byte, kind string) {
	again := s.thread.has(l.uuid)
	e := s.custom(l, data, kind)
	if before := s.thread.messageBefore(l); again && l.kind != "progress" && before != s.thread.spoken {
		s.releaseReply("")
		s.reply = nil
		s.thread.spoken, s.thread.tail = before, s.thread.entryOf(before) // it leads to lines that are repeated after it
	}
	s.add(e)
	s.thread.alias(l, e.ID)
}

// carryCopy adds a line with which firn repeated a message that a compaction keeps.
func (s *scanner) carryCopy(l *line, data []byte) {
	s.carry(l, data, "copy")
	s.thread.keepOriginal(l.uuid, l.copyOf)
}

// custom creates an entry that carries a line as it is.
func (s *scanner) custom(l *line, data []byte, kind string) firn.Entry {
	return firn.Entry{ID: s.id(l), Time: s.now, Body: &firn.Custom{Type: dialect.LineType(dialect.ClaudeCode, kind), Data: keepLine(data)}}
}

// id returns the ID of a line's entry: its uuid, with a number appended if it was used
// before, or an ID derived from the line number.
func (s *scanner) id(l *line) firn.EntryID {
	name := l.uuid
	if name == "" || name == string(firn.Root) {
		name = fmt.Sprintf("l%06d", s.number)
	}
	return s.thread.uniqueID(name)
}

// add emits an entry as a child of the last one.
func (s *scanner) add(e firn.Entry) {
	e.Parent = s.thread.tail
	s.push(e)
}

// push emits an entry.
func (s *scanner) push(e firn.Entry) {
	s.thread.tail = e.ID
	s.out = append(s.out, e)
}

// assignIDs sets the IDs of the entries of one line: the last has the line's own.
func (s *scanner) assignIDs(entries []firn.Entry, id firn.EntryID) {
	last := len(entries) - 1
	for i := range entries[:last] {
		entries[i].ID = s.thread.uniqueID(string(id) + "." + strconv.Itoa(i+1))
	}
	entries[last].ID = id
}
