package crabtalk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// scanner reads a transcript. Every line is an entry that follows the previous one.
type scanner struct {
	from dialect.Origin
	// number counts the objects read, last is the parent of the next entry, and time is the
	// last known time.
	number int
	last   firn.EntryID
	time   time.Time
	headed bool
	out    []firn.Entry
}

func newScanner(from dialect.Origin) *scanner { return &scanner{from: from} }

// Scan reads the next line.
func (s *scanner) Scan(line []byte) ([]firn.Entry, error) {
	s.out = s.out[:0]
	if rawjson.IsBlank(line) {
		return nil, nil
	}
	f, err := readMembers(line)
	if err != nil {
		return nil, fmt.Errorf("reading a line of a session of CrabTalk: %w: %w", firn.ErrCorrupt, err)
	}
	s.number++
	if !s.headed {
		s.headed = true
		if m, ok := readMeta(f); ok {
			s.meta(m)
			return s.out, nil
		}
		s.time = s.from.Created
		s.header(meta{})
	}
	s.line(f, line)
	return s.out, nil
}

// Finish returns nothing: no lines are held back.
func (s *scanner) Finish() []firn.Entry { return nil }

// meta processes the first line.
func (s *scanner) meta(m meta) {
	if s.time = m.created; s.time.IsZero() {
		s.time = s.from.Created
	}
	s.header(m)
	if m.title != "" {
		s.add(&firn.Title{Name: m.title}, nil)
	}
}

// header adds the header, from the facts of the folder if there is no first line.
func (s *scanner) header(m meta) {
	h := firn.Header{Session: s.session(m), CWD: s.from.CWD, Agent: m.agent, Key: keyOf(m.agent, m.sender)}
	if m.agent == "" {
		h.Agent, h.Key = s.from.Agent, s.from.Key
	}
	s.out = append(s.out, firn.Entry{Time: s.time, Body: &h, Extra: m.extra})
}

// session returns the ID of the session: the one from the folder, the file name, or one
// derived from the first line.
func (s *scanner) session(m meta) firn.ID {
	if s.from.ID != "" {
		return safeID(string(s.from.ID))
	}
	if len(s.from.Parts) == 0 {
		return safeID(m.agent + "\x00" + m.sender + "\x00" + m.createdAt)
	}
	file := path.Base(s.from.Parts[0])
	if file == metaFile {
		return safeID(path.Base(path.Dir(s.from.Parts[0])) + stepsSuffix)
	}
	stem := strings.TrimSuffix(file, ending)
	n, ok := parseNameOf(stem, m.agent, m.sender)
	if !ok {
		n, _ = parseName(stem)
	}
	return safeID(n.base(stem))
}

// add adds an entry after the previous one, named by its line number.
func (s *scanner) add(body firn.Body, extra firn.Fields) {
	e := firn.Entry{ID: firn.EntryID(fmt.Sprintf("l%06d", s.number)), Parent: s.last, Time: s.time, Body: body, Extra: extra}
	s.out = append(s.out, e)
	s.last = e.ID
}

// line processes a line after the first. Like CrabTalk, it tries a marker, then an event,
// then a message.
func (s *scanner) line(f members, line []byte) {
	if summary, ok := f.text("compact"); ok {
		s.compaction(f, summary)
		return
	}
	if archive, ok := f.text("archive_name"); ok {
		s.compaction(f, "[archived as "+archive+"]")
		return
	}
	if event, ok := f.text("event"); ok {
		s.stamp(f, "ts")
		s.carry(event, line)
		return
	}
	if inner, err := readMembers(f.get("message")); err == nil && f.get("role") == nil {
		s.message(inner, f, line)
		return
	}
	s.message(f, nil, line)
}

// compaction processes a marker. CrabTalk keeps no messages from before it.
func (s *scanner) compaction(f members, summary string) {
	s.stamp(f, "archived_at")
	id := firn.EntryID(fmt.Sprintf("l%06d", s.number))
	s.add(&firn.Compaction{Summary: summary, FirstKept: id}, f.without("compact"))
}

// message processes a message; outer is the object around it, if any.
func (s *scanner) message(f, outer members, line []byte) {
	m, ok := readMessage(f)
	if !ok {
		s.carry("", line)
		return
	}
	m.Time = s.time
	if agent := outer.get("agent"); agent != nil && m.Extra.Get("agent") == nil {
		m.Extra = append(m.Extra, firn.Field{Name: "agent", Value: rawjson.CleanCopy(agent)})
	}
	s.add(m, outer.without("message", "agent"))
}

// carry adds a line that is not sent to the model.
func (s *scanner) carry(kind string, line []byte) {
	s.add(&firn.Custom{Type: dialect.LineType(dialect.CrabTalk, kind), Data: rawjson.CleanCopy(bytes.TrimSpace(line))}, nil)
}

// stamp takes the time from a line that has one.
func (s *scanner) stamp(f members, name string) {
	if text, ok := f.text(name); ok {
		if t, ok := parseTime(text); ok {
			s.time = t
		}
	}
}

// parseTime parses a time in chrono's format.
func parseTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// meta is the content of the first line.
type meta struct {
	agent, sender, createdAt string
	created                  time.Time
	title                    string
	extra                    firn.Fields
}

// readMeta decodes a first line. It returns false if the line is not one.
func readMeta(f members) (m meta, ok bool) {
	var has [3]bool
	m.agent, has[0] = f.text("agent")
	m.sender, has[1] = f.text("created_by")
	m.createdAt, has[2] = f.text("created_at")
	if has != [3]bool{true, true, true} || f.get("role") != nil || f.get("compact") != nil || f.get("message") != nil {
		return meta{}, false
	}
	m.created, _ = parseTime(m.createdAt)
	m.title, _ = f.text("title")
	m.extra = f.without("agent", "created_at", "title")
	return m, true
}

// members are the members of an object. The values share memory with the line.
type members []firn.Field

// readMembers decodes a single object.
func readMembers(line []byte) (members, error) {
	r := rawjson.New(line)
	if !r.Object() {
		return nil, rawjson.Valid(line)
	}
	f := make(members, 0, 6)
	for r.Member() {
		name := memberName(&r)
		f = append(f, firn.Field{Name: name, Value: r.Raw()})
	}
	return f, r.End()
}

// memberName returns the name of the current member. Common names are not allocated.
func memberName(r *rawjson.Reader) string {
	switch string(r.Key()) {
	case "role":
		return "role"
	case "content":
		return "content"
	case "reasoning_content":
		return "reasoning_content"
	case "name":
		return "name"
	case "tool_call_id":
		return "tool_call_id"
	case "tool_calls":
		return "tool_calls"
	case "id":
		return "id"
	case "type":
		return "type"
	case "function":
		return "function"
	case "arguments":
		return "arguments"
	}
	return r.KeyText()
}

// get returns the last value of this name, as most JSON readers do, nil if there is none.
func (f members) get(name string) json.RawMessage {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name {
			return f[i].Value
		}
	}
	return nil
}

// text returns a string member.
func (f members) text(name string) (string, bool) {
	value := f.get(name)
	if value == nil {
		return "", false
	}
	r := rawjson.New(value)
	return r.Text()
}

// without returns copies of the other members as extra fields.
func (f members) without(names ...string) firn.Fields {
	var rest firn.Fields
next:
	for _, m := range f {
		for _, name := range names {
			if m.Name == name {
				continue next
			}
		}
		rest = append(rest, firn.Field{Name: extraName(m.Name), Value: rawjson.CleanCopy(m.Value)})
	}
	return rest
}

// extraName returns the name of an extra field for a member. Names with a meaning in firn's
// own files are prefixed.
func extraName(name string) string {
	switch name {
	case "", "type", "role", "id", "parentId", "timestamp", "version", "cwd", "firn", "key", "parentSession", "origin":
		return "crabtalk." + name
	}
	return name
}
