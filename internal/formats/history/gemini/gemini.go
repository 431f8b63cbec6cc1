// Package gemini reads the sessions of Gemini CLI.
//
// A session is a file below tmp/<project>/chats: since 2026 a log of lines (.jsonl), before
// that one JSON object (.json). A line is a message, which replaces an earlier one with its
// ID, a change of the metadata or of all messages ($set), or a rewind ($rewindTo).
package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name: dialect.Gemini, Homes: []string{".gemini"}, Source: source{},
		Decoder:   func() history.Decoder { return &decoder{answered: make(map[string]bool)} },
		Retention: retention,
		Resume:    func(id string) []string { return []string{"gemini", "--resume", id} },
	})
}

// source finds sessions in the projects of a home.
type source struct{}

// Owns reports whether there is a session.
func (source) Owns(home fs.FS) bool { return len(files(home)) > 0 }

// Files lists the files of sessions and the files that name the directories of projects.
func (source) Files(home fs.FS) (names []string) {
	projects := make(map[string]bool)
	for _, name := range files(home) {
		names = append(names, name)
		root := rootFile(name)
		if _, err := fs.Stat(home, root); err == nil && !projects[root] {
			projects[root] = true
			names = append(names, root)
		}
	}
	return names
}

// files lists the files of sessions. Those of sub-agents are in a folder of their parent.
func files(home fs.FS) (names []string) {
	for _, pattern := range []string{"tmp/*/chats/*.json", "tmp/*/chats/*.jsonl", "tmp/*/chats/*/*.json", "tmp/*/chats/*/*.jsonl"} {
		found, _ := fs.Glob(home, pattern) // the patterns are valid
		names = append(names, found...)
	}
	slices.Sort(names)
	return names
}

// rootFile returns the file that names the directory of a project.
func rootFile(name string) string {
	return path.Join("tmp", strings.Split(name, "/")[1], ".project_root")
}

// Sessions yields the sessions of all projects.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	return func(yield func(history.Session, error) bool) {
		for _, name := range files(home) {
			s, err := readSession(home, name)
			if err != nil {
				s, err = history.Session{}, &fs.PathError{Op: "read", Path: name, Err: err}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// readSession reads a session's description.
func readSession(home fs.FS, name string) (s history.Session, err error) {
	c, err := readChat(home, name)
	if err != nil {
		return s, err
	}
	s.ID, s.Title, s.Created, s.Updated = c.meta.SessionID, c.meta.Summary, c.meta.StartTime, c.meta.LastUpdated
	if s.ID == "" {
		s.ID = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	if parts := strings.Split(name, "/"); len(parts) == 5 { // tmp/<project>/chats/<parent>/<file>
		s.Parent, s.Sub = parts[3], true
	}
	s.Sub = s.Sub || c.meta.Kind == "subagent"
	if root, err := fs.ReadFile(home, rootFile(name)); err == nil {
		s.CWD = strings.TrimSpace(string(root))
	}
	id := s.ID
	s.Records = func() ([][]byte, error) {
		c, err := readChat(home, name)
		return c.records(id), err
	}
	return s, nil
}

// meta is the metadata of a session.
type meta struct {
	SessionID   string    `json:"sessionId"`
	StartTime   time.Time `json:"startTime"`
	LastUpdated time.Time `json:"lastUpdated"`
	Summary     string    `json:"summary"`
	Kind        string    `json:"kind"`
}

// chat is a session as its file describes it.
type chat struct {
	meta meta
	// raw holds the members of the metadata, in the order in which they appeared.
	names []string
	raw   map[string]json.RawMessage
	// ids are the messages in order.
	ids      []string
	messages map[string]json.RawMessage
	// odd are lines that are not understood.
	odd [][]byte
}

// readChat reads a file. Lines that are cut or damaged are skipped, as Gemini CLI does.
func readChat(home fs.FS, name string) (c chat, err error) {
	data, err := fs.ReadFile(home, name)
	if err != nil {
		return c, err
	}
	c.raw, c.messages = make(map[string]json.RawMessage), make(map[string]json.RawMessage)
	if path.Ext(name) == ".json" {
		if !json.Valid(data) {
			return c, fmt.Errorf("%w: it is not valid JSON", firn.ErrCorrupt)
		}
		c.apply(data)
	} else {
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 && json.Valid(line) {
				c.apply(line)
			}
		}
	}
	if len(c.raw) == 0 && len(c.ids) == 0 && len(bytes.TrimSpace(data)) > 0 {
		return c, fmt.Errorf("%w: it holds no session of Gemini CLI", firn.ErrUnsupported)
	}
	return c, nil
}

// apply applies one line.
func (c *chat) apply(line []byte) {
	var record struct {
		Set      map[string]json.RawMessage `json:"$set"`
		RewindTo *string                    `json:"$rewindTo"`
		ID       *string                    `json:"id"`
	}
	ok := history.Unmarshal(line, &record)
	switch {
	case ok && record.RewindTo != nil:
		c.rewind(*record.RewindTo)
	case ok && record.Set != nil:
		c.set(record.Set)
	case ok && record.ID != nil:
		c.add(*record.ID, line)
	default:
		var members map[string]json.RawMessage
		if history.Unmarshal(line, &members) && members["sessionId"] != nil {
			c.set(members)
			return
		}
		c.odd = append(c.odd, bytes.Clone(line))
	}
}

// add adds a message or replaces the one with its ID.
func (c *chat) add(id string, raw []byte) {
	if c.messages[id] == nil {
		c.ids = append(c.ids, id)
	}
	c.messages[id] = bytes.Clone(raw)
}

// rewind removes a message and all later ones; all if there is none with this ID.
func (c *chat) rewind(id string) {
	at := max(slices.Index(c.ids, id), 0)
	for _, gone := range c.ids[at:] {
		delete(c.messages, gone)
	}
	c.ids = c.ids[:at]
}

// set changes metadata. A list of messages replaces all messages.
func (c *chat) set(members map[string]json.RawMessage) {
	for _, name := range slices.Sorted(mapKeys(members)) {
		if name != "messages" {
			if c.raw[name] == nil {
				c.names = append(c.names, name)
			}
			c.raw[name] = members[name]
			continue
		}
		c.ids, c.messages = nil, make(map[string]json.RawMessage)
		var messages []json.RawMessage
		history.Unmarshal(members[name], &messages)
		for i, raw := range messages {
			var m struct{ ID string }
			if history.Unmarshal(raw, &m); m.ID == "" || c.messages[m.ID] != nil {
				m.ID += "~" + strconv.Itoa(i+1) // none, or one that an earlier message has
			}
			c.add(m.ID, raw)
		}
	}
	history.Unmarshal(c.metaObject(), &c.meta)
}

// mapKeys yields the keys of a map.
func mapKeys(m map[string]json.RawMessage) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// metaObject returns the metadata as an object.
func (c *chat) metaObject() []byte {
	var pairs []string
	for _, name := range c.names {
		pairs = append(pairs, name, string(c.raw[name]))
	}
	return history.Members(pairs...)
}

// records returns the metadata, the messages and the lines that are not understood.
func (c *chat) records(id string) [][]byte {
	all := [][]byte{history.Record("session", id, "data", string(c.metaObject()))}
	for _, id := range c.ids {
		all = append(all, history.Line(c.messages[id]))
	}
	for i, line := range c.odd {
		all = append(all, history.Record("unknown", strconv.Itoa(i+1), "data", string(line)))
	}
	return all
}

// retention returns the age at which Gemini CLI deletes sessions: 30 days unless its
// settings say otherwise.
func retention(home fs.FS) time.Duration {
	const day = 24 * time.Hour
	var settings struct {
		General struct {
			SessionRetention struct {
				Enabled *bool
				MaxAge  string
			}
		}
	}
	if data, err := fs.ReadFile(home, "settings.json"); err == nil {
		history.Unmarshal(data, &settings)
	}
	r := settings.General.SessionRetention
	if r.Enabled != nil && !*r.Enabled {
		return 0
	}
	units := map[byte]time.Duration{'h': time.Hour, 'd': day, 'w': 7 * day, 'm': 30 * day}
	if n := len(r.MaxAge); n > 1 {
		if count, err := strconv.Atoi(r.MaxAge[:n-1]); err == nil && count > 0 && count < 100_000 && units[r.MaxAge[n-1]] > 0 {
			return time.Duration(count) * units[r.MaxAge[n-1]]
		}
	}
	return 30 * day
}
