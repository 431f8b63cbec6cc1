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

// scanner reads a transcript. It hangs entries in the order Claude Code would
// send them; see thread for where an entry goes and reply for what is held
// back on the way.
type scanner struct {
	from   dialect.Origin
	thread thread
	reply  *reply
	// boundary is that of a compaction whose summary is yet to come.
	boundary *boundary

	out    []firn.Entry
	number int
	begun  bool
	// sub is set if the file is a sub-agent's: then a sidechain is what it is
	// about.
	sub, decided bool
	now          time.Time
	cwd, branch  string
	title        firn.Title
	// calls tells the names of tools by the ids of calls.
	calls map[string]string
	// usage tells which line of an answer has told its usage.
	usage map[string]string
	seed  maphash.Seed
}

// patience is how many lines may come before the first that tells where and
// when the session began.
const patience = 64

func newScanner(from dialect.Origin) *scanner {
	s := &scanner{
		from: from, thread: newThread(), calls: make(map[string]string), usage: make(map[string]string), seed: maphash.MakeSeed(),
		title: firn.Title{Name: from.Title, Source: firn.SourceUser},
	}
	if from.Title != "" {
		title := s.title
		s.add(firn.Entry{ID: s.thread.fresh("title"), Body: &title}) // it stands beside the file
	}
	if from.Sub || isSubPath(s.path()) {
		s.sub, s.decided = true, true
	}
	return s
}

// path is where the transcript lies; empty if that is not known.
func (s *scanner) path() string {
	if len(s.from.Parts) == 0 {
		return ""
	}
	return s.from.Parts[0]
}

// Scan reads the next line.
func (s *scanner) Scan(data []byte) ([]firn.Entry, error) {
	s.number++
	if s.begun {
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
	return s.begin(&l), nil
}

// Finish returns what was held back.
func (s *scanner) Finish() []firn.Entry {
	if s.begun {
		s.out = s.out[:0]
	}
	s.settle("")
	s.dropBoundary()
	if !s.begun && s.number > 0 {
		s.head(&line{})
	}
	return s.out
}

// begin returns what is ready, once it is known where and when the session
// began: the header comes first.
func (s *scanner) begin(l *line) []firn.Entry {
	if s.begun {
		return s.out
	}
	if l.cwd == "" && !(l.chained() && l.uuid != "") && s.number < patience {
		return nil
	}
	s.head(l)
	return s.out
}

// head puts the header before all that was read so far.
func (s *scanner) head(l *line) {
	s.begun = true
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

// idOf makes a session's id of what is known of it. Claude Code's own files are
// named after it, or after the sub-agent; any other name is somebody else's.
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

// line reads one line.
func (s *scanner) line(l *line, data []byte) {
	if l.kind == "firn" {
		s.private(l, data)
		return
	}
	if l.chained() && !s.aside(l) {
		s.chain(l, data)
		return
	}
	s.metadata(l, data)
}

// aside reports whether the line belongs to a sub-agent whose talk is carried
// in its parent's file. A file that begins with such lines is about them.
func (s *scanner) aside(l *line) bool {
	if !s.decided {
		s.sub, s.decided = l.sidechain, true
	}
	if s.sub && !l.sidechain && l.kind != "progress" {
		s.sub = s.from.Sub || isSubPath(s.path())
	}
	return l.sidechain && !s.sub
}

// chain reads a line of the chain.
func (s *scanner) chain(l *line, data []byte) {
	s.thread.name(l.parent)
	switch {
	case l.kind == "system" && l.subtype == "compact_boundary":
		s.settle(l.logical)
		s.dropBoundary()
		s.boundary = newBoundary(l, data, s.number)
	case s.boundary != nil && l.kind == "user" && l.summary && (l.parent == s.boundary.uuid || !l.hasParent):
		s.compaction(l)
	case l.copyOf != "":
		s.copied(l, data)
	case boolOf(l.firn, "synthetic"):
		s.carry(l, data, "synthetic")
	case s.talk(l):
		s.said(l, data)
	default:
		s.carry(l, data, l.label())
	}
}

// talk reports whether a line is part of the conversation.
func (s *scanner) talk(l *line) bool {
	switch l.kind {
	case "user", "assistant":
		return len(l.message) > 0 && l.message[0] == '{'
	case "attachment":
		return textOf(l.attachment, "type") == "queued_command" && valueOf(l.attachment, "prompt") != nil
	}
	return false
}

// metadata reads a line that is no link of the chain, or none of ours.
func (s *scanner) metadata(l *line, data []byte) {
	switch {
	case l.sidechain && l.chained():
		s.add(s.custom(l, data, "sidechain"))
	case l.kind == "custom-title" && l.hasTitle:
		s.titled(l, data, firn.SourceUser)
	case l.kind == "ai-title" && l.hasTitle:
		s.titled(l, data, firn.SourceAuto)
	case l.kind == "summary" && l.hasTitle && s.thread.has(l.leaf):
		s.titled(l, data, firn.SourceAuto)
	case l.kind == "last-prompt" && s.thread.isTip(l.leaf):
		e := s.custom(l, data, l.kind)
		e.Parent = s.thread.move(l.leaf)
		s.push(e)
	default:
		s.add(s.custom(l, data, l.label()))
	}
}

// titled reads a title. Claude Code writes titles again now and then: that is
// no news.
func (s *scanner) titled(l *line, data []byte, by firn.Source) {
	title := firn.Title{Name: l.title, Source: by}
	if title == s.title {
		s.add(s.custom(l, data, l.kind))
		return
	}
	s.title = title
	s.add(firn.Entry{ID: s.id(l), Time: s.now, Body: &title})
}

// carry takes a line of the chain that is not part of the conversation.
func (s *scanner) carry(l *line, data []byte, kind string) {
	again := s.thread.has(l.uuid)
	e := s.custom(l, data, kind)
	if before := s.thread.before(l); again && l.kind != "progress" && before != s.thread.spoken {
		s.settle("")
		s.reply = nil
		s.thread.spoken, s.thread.tail = before, s.thread.entryOf(before) // it leads to what comes again behind it
	}
	s.add(e)
	s.thread.alias(l, e.ID)
}

// copied takes a line that repeats, behind a compaction that firn wrote, what
// that compaction keeps.
func (s *scanner) copied(l *line, data []byte) {
	s.carry(l, data, "copy")
	s.thread.stands(l.uuid, l.copyOf)
}

// custom makes an entry that carries a line as it is.
func (s *scanner) custom(l *line, data []byte, kind string) firn.Entry {
	return firn.Entry{ID: s.id(l), Time: s.now, Body: &firn.Custom{Type: dialect.LineType(dialect.ClaudeCode, kind), Data: keepLine(data)}}
}

// id is the name of the entry that a line makes: its uuid the first time, and
// with a number behind it when it comes again; else made from its place.
func (s *scanner) id(l *line) firn.EntryID {
	name := l.uuid
	if name == "" || name == string(firn.Root) {
		name = fmt.Sprintf("l%06d", s.number)
	}
	return s.thread.fresh(name)
}

// add hangs an entry under the last one.
func (s *scanner) add(e firn.Entry) {
	e.Parent = s.thread.tail
	s.push(e)
}

// push hands out an entry.
func (s *scanner) push(e firn.Entry) {
	s.thread.tail = e.ID
	s.out = append(s.out, e)
}

// numbered gives ids to the entries of one line: the last has the line's own.
func (s *scanner) numbered(entries []firn.Entry, id firn.EntryID) {
	last := len(entries) - 1
	for i := range entries[:last] {
		entries[i].ID = s.thread.fresh(string(id) + "." + strconv.Itoa(i+1))
	}
	entries[last].ID = id
}
