// Package cline reads the sessions of Cline and of Roo Code, which began as a copy of it.
//
// Cline's command line keeps a session in sessions/<id>/<id>.messages.json, with
// <id>.json about it. The extensions for editors keep a task in
// tasks/<id>/api_conversation_history.json, a list of messages in the form of Anthropic's
// API.
package cline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name: dialect.Cline, Homes: homes(), Source: source{},
		Decoder: func() history.Decoder { return decoder{} },
		Resume:  func(id string) []string { return []string{"cline", "--id", id} },
	})
}

// homes lists the home of the command line and those of the extensions in known editors.
func homes() []string {
	all := []string{".cline/data"}
	var users []string
	for _, base := range []string{".config", "Library/Application Support", "AppData/Roaming"} {
		for _, editor := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"} {
			users = append(users, base+"/"+editor)
		}
	}
	for _, user := range append(users, ".vscode-server/data", ".cursor-server/data") {
		for _, extension := range []string{"saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"} {
			all = append(all, user+"/User/globalStorage/"+extension)
		}
	}
	return all
}

// source finds sessions and tasks.
type source struct{}

// taskFile is the file of a task with its messages; messagesEnd ends the name of a
// session's.
const (
	taskFile    = "api_conversation_history.json"
	messagesEnd = ".messages.json"
)

// files lists the files with messages.
func files(home fs.FS) []string {
	sessions, _ := fs.Glob(home, "sessions/*/*"+messagesEnd) // the patterns are valid
	tasks, _ := fs.Glob(home, "tasks/*/"+taskFile)
	return append(sessions, tasks...)
}

// Owns reports whether there is a session or a task.
func (source) Owns(home fs.FS) bool { return len(files(home)) > 0 }

// Files lists the files with messages and those that describe sessions.
func (source) Files(home fs.FS) (names []string) {
	for _, name := range files(home) {
		names = append(names, name)
		for _, about := range aboutFiles(name) {
			if _, err := fs.Stat(home, about); err == nil && !slices.Contains(names, about) {
				names = append(names, about)
			}
		}
	}
	return names
}

// indexFile is Cline's list of tasks.
const indexFile = "state/taskHistory.json"

// aboutFiles returns the files that may describe a session.
func aboutFiles(name string) []string {
	if stem, ok := strings.CutSuffix(name, messagesEnd); ok {
		return []string{stem + ".json"}
	}
	return []string{path.Join(path.Dir(name), "history_item.json"), indexFile}
}

// Sessions yields the sessions and tasks.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	return func(yield func(history.Session, error) bool) {
		tasks := readIndex(home)
		for _, name := range files(home) {
			s, err := readSession(home, name, tasks)
			if err != nil {
				s, err = history.Session{}, &fs.PathError{Op: "read", Path: name, Err: err}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// about describes a session: the union of Cline's and Roo's descriptions.
type about struct {
	ID, Task, Workspace     string
	CWDOnTaskInitialization string
	TS                      int64
	CWD, Prompt             string
	ParentSessionID         string    `json:"parent_session_id"`
	StartedAt               time.Time `json:"started_at"`
	Metadata                struct{ Title string }
}

// readIndex returns Cline's list of tasks by ID.
func readIndex(home fs.FS) map[string]about {
	data, err := fs.ReadFile(home, indexFile)
	if err != nil {
		return nil
	}
	var list []about
	history.Unmarshal(data, &list)
	tasks := make(map[string]about, len(list))
	for _, t := range list {
		tasks[t.ID] = t
	}
	return tasks
}

// readSession reads a session's description.
func readSession(home fs.FS, name string, tasks map[string]about) (s history.Session, err error) {
	c, err := readConversation(home, name)
	if err != nil {
		return s, err
	}
	s.ID = path.Base(path.Dir(name))
	if stem, ok := strings.CutSuffix(path.Base(name), messagesEnd); ok {
		s.ID = stem
	}
	a, listed := tasks[s.ID]
	if data, err := fs.ReadFile(home, aboutFiles(name)[0]); err == nil && !listed {
		history.Unmarshal(data, &a)
	}
	s.Title = cmp.Or(a.Metadata.Title, history.OneLine(a.Prompt), history.OneLine(a.Task))
	s.CWD = cmp.Or(a.CWD, a.Workspace, a.CWDOnTaskInitialization)
	s.Parent, s.Sub = a.ParentSessionID, a.ParentSessionID != ""
	s.Created, s.Updated = a.StartedAt, c.UpdatedAt
	if len(c.Messages) > 0 && s.Created.IsZero() {
		var m message
		history.Unmarshal(c.Messages[0], &m)
		s.Created = history.Unix(m.TS)
	}
	if s.Updated.IsZero() {
		if info, err := fs.Stat(home, name); err == nil {
			s.Updated = info.ModTime().UTC().Truncate(time.Millisecond)
		}
	}
	s.Records = func() ([][]byte, error) {
		c, err := readConversation(home, name)
		return c.records(), err
	}
	return s, nil
}

// conversation is the contents of a file with messages.
type conversation struct {
	Version      int
	UpdatedAt    time.Time `json:"updated_at"`
	SystemPrompt string    `json:"system_prompt"`
	Messages     []json.RawMessage
}

// readConversation reads a file with messages: an object, or the list itself.
func readConversation(home fs.FS, name string) (c conversation, err error) {
	data, err := fs.ReadFile(home, name)
	if err != nil {
		return c, err
	}
	if !json.Valid(data) {
		return c, fmt.Errorf("%w: it is not valid JSON", firn.ErrCorrupt)
	}
	if json.Unmarshal(data, &c.Messages) == nil {
		return c, nil
	}
	switch ok := history.Unmarshal(data, &c); {
	case !ok || c.Messages == nil:
		return c, fmt.Errorf("%w: it holds no list of messages", firn.ErrUnsupported)
	case c.Version > 1:
		return c, fmt.Errorf("%w: its version is %d, firn reads version 1 of Cline 3.0", firn.ErrUnsupported, c.Version)
	}
	return c, nil
}

// records returns the system prompt and a record for each message. Messages of the
// extensions have no ID.
func (c *conversation) records() (all [][]byte) {
	if c.SystemPrompt != "" {
		all = append(all, history.Record("system", "system", "text", history.Quote(c.SystemPrompt)))
	}
	for _, raw := range c.Messages {
		var m message
		history.Unmarshal(raw, &m)
		all = append(all, history.Record("message", m.ID, "data", string(raw)))
	}
	return all
}
