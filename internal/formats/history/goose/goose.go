// Package goose reads the sessions of Goose from its SQLite database.
package goose

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name: dialect.Goose, Homes: []string{".local/share/goose", "Library/Application Support/Block/goose"}, Source: source{},
		Decoder: func() history.Decoder { return decoder{} },
		Resume:  func(id string) []string { return []string{"goose", "session", "--resume", "--session-id", id} },
	})
}

// source finds sessions in the database.
type source struct{}

// databaseIn returns the path of the database in a home, or in its folder of sessions.
func databaseIn(home fs.FS) (string, bool) {
	for _, name := range []string{"sessions/sessions.db", "sessions.db"} {
		if info, err := fs.Stat(home, name); err == nil && !info.IsDir() {
			return name, true
		}
	}
	return "", false
}

// Owns reports whether there is a database with sessions of Goose. The name of the file in
// a folder of sessions is not specific enough.
func (source) Owns(home fs.FS) bool {
	name, ok := databaseIn(home)
	return ok && path.Dir(name) == "sessions" && (history.Exists(home, "projects.json") || history.HasTables(home, name, columns))
}

// Files lists the database and its log.
func (source) Files(home fs.FS) []string {
	name, ok := databaseIn(home)
	if !ok {
		return nil
	}
	return litefile.Files(home, name)
}

// columns are the columns that are read of each table.
var columns = map[string][]string{
	"sessions": {"id", "description", "working_dir", "created_at", "updated_at"},
	"messages": {"id", "session_id", "role", "content_json", "created_timestamp"},
}

// Sessions yields the sessions.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	var names []string
	if name, ok := databaseIn(home); ok {
		names = []string{name}
	}
	return history.Each(names, func(name string) ([]history.Session, error) { return list(home, name) })
}

// list returns the sessions, oldest first.
func list(home fs.FS, name string) (sessions []history.Session, err error) {
	err = litefile.Read(home, name, func(db *sql.DB) error {
		sessions = nil
		if err := litefile.Check(db, columns, "Goose 1.10"); err != nil {
			return err
		}
		has, err := litefile.Columns(db, "sessions")
		if err != nil {
			return err
		}
		title, kind := "description", "'user'"
		if has["name"] {
			title = "coalesce(nullif(name, ''), description)"
		}
		if has["session_type"] {
			kind = "session_type"
		}
		rows, err := db.Query("select id, " + title + ", working_dir, cast(created_at as text), cast(updated_at as text), " + kind + " from sessions order by created_at, id")
		if err != nil {
			return err
		}
		defer rows.Close() // its error is that of rows.Err
		for rows.Next() {
			var s history.Session
			var created, updated sql.NullString
			var kind string
			if err := rows.Scan(&s.ID, &s.Title, &s.CWD, &created, &updated, &kind); err != nil {
				return err
			}
			s.Sub = kind == "sub_agent"
			s.Created, s.Updated = parseTime(created.String), parseTime(updated.String)
			id := s.ID
			s.Records = func() ([][]byte, error) { return records(home, name, id) }
			sessions = append(sessions, s)
		}
		return rows.Err()
	})
	return sessions, err
}

// parseTime reads a time of the database, which is in UTC.
func parseTime(text string) time.Time {
	for _, layout := range []string{time.DateTime, time.RFC3339, "2006-01-02 15:04:05.999999999-07:00", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// records returns a record for each message.
func records(home fs.FS, name, session string) (all [][]byte, err error) {
	err = litefile.Read(home, name, func(db *sql.DB) error {
		row, err := litefile.Object(db, "select * from sessions where id = ?", session)
		if err != nil {
			return err
		}
		all = [][]byte{history.Record("session", session, "data", row)}
		has, err := litefile.Columns(db, "messages")
		if err != nil {
			return err
		}
		id, meta := "''", "''"
		if has["message_id"] {
			id = "coalesce(message_id, '')"
		}
		if has["metadata_json"] {
			meta = "coalesce(metadata_json, '')"
		}
		rows, err := db.Query("select id, "+id+", role, content_json, created_timestamp, "+meta+" from messages where session_id = ? order by created_timestamp, id", session)
		if err != nil {
			return err
		}
		defer rows.Close() // its error is that of rows.Err
		for rows.Next() {
			var number, created int64
			var id, role, content, meta string
			if err := rows.Scan(&number, &id, &role, &content, &created, &meta); err != nil {
				return err
			}
			if id == "" {
				id = fmt.Sprintf("%d", number)
			}
			record := []string{"role", history.Quote(role), "created", fmt.Sprint(created), "content", content}
			if meta != "" {
				record = append(record, "metadata", meta)
			}
			all = append(all, history.Record("message", id, record...))
		}
		return rows.Err()
	})
	return all, err
}

// record is a message.
type record struct {
	Type, Role string
	Created    int64
	Content    json.RawMessage
}

// content is a part of a message.
type content struct {
	Type, Text, Thinking, Signature string
	ID, Data, MimeType              string
	ToolCall                        struct {
		Status string
		Value  struct {
			Name      string
			Arguments json.RawMessage
		}
		Error string
	}
	ToolResult struct {
		Status, Error string
		Value         json.RawMessage
	}
}

// decoder reads records.
type decoder struct{}

// Decode returns the entries of a message. Results of calls, which Goose stores in messages
// of the user, are messages of their own.
func (decoder) Decode(line []byte) []history.Item {
	var r record
	if !history.Unmarshal(line, &r) || r.Type != "message" || r.Role != "user" && r.Role != "assistant" {
		return nil
	}
	var contents []json.RawMessage
	if json.Unmarshal(r.Content, &contents) != nil {
		return nil
	}
	at := history.Unix(r.Created)
	m := &firn.Message{Role: firn.RoleUser}
	if r.Role == "assistant" {
		m.Role, m.StopReason = firn.RoleAssistant, firn.StopEnd
	}
	var items []history.Item
	for _, raw := range contents {
		var c content
		if !history.Unmarshal(raw, &c) {
			m.Parts = append(m.Parts, history.Opaque("content", raw))
			continue
		}
		if c.Type == "toolResponse" {
			items = append(items, history.Item{Time: at, Body: &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{c.result()}}})
			continue
		}
		p := c.part(raw)
		if _, ok := p.(firn.ToolCall); ok && m.Role == firn.RoleAssistant {
			m.StopReason = firn.StopToolUse
		}
		m.Parts = append(m.Parts, p)
	}
	if len(m.Parts) > 0 || len(items) == 0 {
		items = append(items, history.Item{Time: at, Body: m})
	}
	return items
}

// part returns a part of a message.
func (c *content) part(raw []byte) firn.Part {
	switch {
	case c.Type == "text":
		return firn.Text{Text: history.Clean(c.Text)}
	case c.Type == "thinking":
		return firn.Thinking{Text: history.Clean(c.Thinking), Signature: history.Clean(c.Signature)}
	case c.Type == "redactedThinking":
		return firn.Thinking{Signature: history.Clean(c.Data), Redacted: true}
	case c.Type == "image":
		return firn.Image{MimeType: history.Clean(c.MimeType), Data: history.Clean(c.Data)}
	case c.Type == "toolRequest" && c.ToolCall.Status == "success":
		return firn.ToolCall{ID: history.Clean(c.ID), Name: history.Clean(c.ToolCall.Value.Name), Arguments: history.Object(c.ToolCall.Value.Arguments)}
	}
	return history.Opaque(c.Type, raw)
}

// result returns the result of a call. Its value is a list of contents, or an object with
// one.
func (c *content) result() firn.Part {
	r := firn.ToolResult{CallID: history.Clean(c.ID), IsError: c.ToolResult.Status == "error"}
	if r.IsError {
		r.Content = []firn.Part{firn.Text{Text: history.Clean(c.ToolResult.Error)}}
		return r
	}
	var list []json.RawMessage
	if json.Unmarshal(c.ToolResult.Value, &list) != nil {
		var object struct {
			Content []json.RawMessage
			IsError bool
		}
		history.Unmarshal(c.ToolResult.Value, &object)
		list, r.IsError = object.Content, object.IsError
	}
	for _, raw := range list {
		var inner content
		if !history.Unmarshal(raw, &inner) {
			inner = content{}
		}
		r.Content = append(r.Content, inner.part(raw))
	}
	return r
}
