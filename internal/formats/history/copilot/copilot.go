// Package copilot reads the sessions of GitHub Copilot CLI.
//
// A session is a folder with events.jsonl, a log of events, and workspace.yaml with its
// name. The events of sub-agents are in the same log, marked with the call that started
// them.
package copilot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"path"
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
		Name: dialect.Copilot, Homes: []string{".copilot"}, Source: source{},
		Decoder: func() history.Decoder { return &decoder{} },
		Resume:  func(id string) []string { return []string{"copilot", "--resume=" + id} },
	})
}

// source finds sessions.
type source struct{}

// Owns reports whether there is a session.
func (source) Owns(home fs.FS) bool { return len(files(home)) > 0 }

// files lists the logs of sessions.
func files(home fs.FS) []string {
	names, _ := fs.Glob(home, "session-state/*/events.jsonl") // the pattern is valid
	return names
}

// Files lists the logs and the files with the sessions' names.
func (source) Files(home fs.FS) (names []string) {
	for _, name := range files(home) {
		names = append(names, name)
		if about := path.Join(path.Dir(name), "workspace.yaml"); exists(home, about) {
			names = append(names, about)
		}
	}
	return names
}

func exists(home fs.FS, name string) bool {
	_, err := fs.Stat(home, name)
	return err == nil
}

// Sessions yields the sessions.
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
	data, err := fs.ReadFile(home, name)
	if err != nil {
		return s, err
	}
	s.ID = path.Base(path.Dir(name))
	s.Records = func() ([][]byte, error) {
		data, err := fs.ReadFile(home, name)
		return lines(data), err
	}
	first, _, _ := bytes.Cut(data, []byte{'\n'})
	var start struct {
		Type      string
		Timestamp time.Time
		Data      struct {
			Version int
			Context struct{ CWD string }
		}
	}
	if history.Unmarshal(first, &start) && start.Type == "session.start" {
		if start.Data.Version > 1 {
			return s, fmt.Errorf("%w: its version is %d, firn reads version 1 of GitHub Copilot CLI 1.0", firn.ErrUnsupported, start.Data.Version)
		}
		s.Created, s.CWD = start.Timestamp, start.Data.Context.CWD
	}
	s.Updated = lastTime(data)
	if info, err := fs.Stat(home, name); err == nil && s.Updated.IsZero() {
		s.Updated = info.ModTime().UTC().Truncate(time.Millisecond)
	}
	if about, err := fs.ReadFile(home, path.Join(path.Dir(name), "workspace.yaml")); err == nil {
		s.Title = yamlText(about, "name")
		if s.CWD == "" {
			s.CWD = yamlText(about, "cwd")
		}
	}
	return s, nil
}

// lastTime returns the time of the last event that has one; zero if there is none. The time
// of the file may be that of a copy.
func lastTime(data []byte) time.Time {
	for len(data) > 0 {
		at := bytes.LastIndexByte(data, '\n')
		var event struct{ Timestamp time.Time }
		if history.Unmarshal(data[at+1:], &event) && !event.Timestamp.IsZero() {
			return event.Timestamp
		}
		data = data[:max(at, 0)]
	}
	return time.Time{}
}

// lines returns the events. A line that is not an event becomes one of unknown type; the
// last one is left out if it is cut, because the rest may follow.
func lines(data []byte) (all [][]byte) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		whole := bytes.HasSuffix(line, []byte{'\n'})
		line = bytes.TrimSpace(line)
		switch ok := json.Valid(line); {
		case len(line) == 0 || !ok && !whole:
		case ok && line[0] == '{':
			all = append(all, history.Line(line))
		default:
			all = append(all, history.Record("unknown", strconv.Itoa(n), "data", string(line)))
		}
	}
	return all
}

// yamlText returns the value of a top-level member with a text on one line.
func yamlText(data []byte, name string) string {
	for line := range strings.Lines(string(data)) {
		value, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if strings.HasPrefix(value, `"`) {
			if text, err := strconv.Unquote(value); err == nil {
				return text
			}
		}
		if n := len(value); n > 1 && value[0] == '\'' && value[n-1] == '\'' {
			return strings.ReplaceAll(value[1:n-1], "''", "'")
		}
		if value == "|" || value == "|-" || value == ">" || value == ">-" || value == "null" {
			return ""
		}
		return value
	}
	return ""
}
