package hermes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/history"
)

// transcript is a file with a session.
type transcript struct {
	id               string
	own              bool // it has marks that only Hermes writes
	created, updated time.Time
	prompt           string
	// meta holds the members of the file except its messages and system prompt, as names and
	// raw values.
	meta     []string
	messages [][]byte
}

// stamped is the part of a message that a transcript reads itself.
type stamped struct{ Role, Timestamp string }

// readTranscript reads a file.
func readTranscript(home fs.FS, name string) (*transcript, error) {
	data, err := fs.ReadFile(home, name)
	if err != nil {
		return nil, err
	}
	t := &transcript{id: strings.TrimSuffix(path.Base(name), ".jsonl")}
	if path.Ext(name) == ".json" {
		t.id = strings.TrimPrefix(strings.TrimSuffix(path.Base(name), ".json"), "session_")
		return t, t.readObject(data)
	}
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			t.add(line)
		}
	}
	return t, nil
}

// add adds a message, or a line that is none: one that is still being written or damaged.
func (t *transcript) add(raw []byte) {
	var m stamped
	history.Unmarshal(raw, &m)
	t.own = t.own || m.Role == "session_meta"
	if at := history.ParseTime(m.Timestamp); !at.IsZero() {
		if t.created.IsZero() {
			t.created = at
		}
		t.updated = at
	}
	t.messages = append(t.messages, bytes.Clone(raw))
}

// readObject reads a session that is one JSON object.
func (t *transcript) readObject(data []byte) error {
	r := rawjson.New(data)
	if !json.Valid(data) || r.Kind() != rawjson.Object {
		return fmt.Errorf("%w: it is not a JSON object", firn.ErrCorrupt)
	}
	var about struct {
		Start        string `json:"session_start"`
		Updated      string `json:"last_updated"`
		SystemPrompt string `json:"system_prompt"`
		Messages     []json.RawMessage
	}
	history.Unmarshal(data, &about)
	t.own = about.Start != "" && about.Messages != nil
	for ok := r.Object(); ok && r.Member(); {
		key := r.KeyText()
		if raw := r.Raw(); key != "messages" && key != "system_prompt" {
			t.meta = append(t.meta, key, string(raw))
		}
	}
	for _, raw := range about.Messages {
		t.add(raw)
	}
	t.prompt = about.SystemPrompt
	if at := history.ParseTime(about.Start); !at.IsZero() {
		t.created = at
	}
	if at := history.ParseTime(about.Updated); at.After(t.updated) {
		t.updated = at
	}
	return nil
}

// session returns the session of a transcript.
func (t *transcript) session() history.Session {
	return history.Session{
		Head:    history.Head{ID: t.id, Created: t.created, Updated: t.updated},
		Records: func() ([][]byte, error) { return t.records(), nil },
	}
}

// records returns the members of the file, the system prompt, and a record for each message
// with the number of its line.
func (t *transcript) records() (all [][]byte) {
	if len(t.meta) > 0 {
		all = append(all, history.Record("session", t.id, "data", string(history.Members(t.meta...))))
	}
	if t.prompt != "" {
		all = append(all, history.Record("system", "system", "text", history.Quote(t.prompt)))
	}
	for i, raw := range t.messages {
		var m stamped
		history.Unmarshal(raw, &m)
		all = append(all, history.Record("message", strconv.Itoa(i+1), append(history.Timestamp(history.ParseTime(m.Timestamp)), "data", string(raw))...))
	}
	return all
}
