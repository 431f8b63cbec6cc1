// Package hermes reads the sessions of Hermes Agent.
//
// Hermes keeps them in the SQLite database state.db of its home and of each profile. Versions
// before the database was complete also wrote transcripts below sessions: a log of lines
// (ID.jsonl), or one JSON object (session_ID.json). Messages are in the form of OpenAI's Chat
// Completions. Compacted and undone messages stay in the database with flags.
package hermes

import (
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// database is the name of a database.
const database = "state.db"

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name: dialect.Hermes, Homes: []string{".hermes", "AppData/Local/hermes"}, Source: source{},
		Decoder:   func() history.Decoder { return &decoder{archived: make(map[[32]byte]bool)} },
		Retention: retention,
		Resume:    func(id string) []string { return []string{"hermes", "--resume", id} },
	})
}

// source finds sessions in the databases and folders of a home and its profiles.
type source struct{}

// profiles lists the directories with a database or transcripts: the home itself and those of
// its named profiles.
func profiles(home fs.FS) []string {
	named, _ := fs.Glob(home, "profiles/*") // the pattern is valid
	return append([]string{"."}, named...)
}

// transcripts lists the files with transcripts in the directory of a profile.
func transcripts(home fs.FS, dir string) (names []string) {
	for _, pattern := range []string{"sessions/*.jsonl", "sessions/session_*.json"} {
		found, _ := fs.Glob(home, path.Join(dir, pattern)) // profiles with special characters have none
		names = append(names, found...)
	}
	return names
}

// Owns reports whether there is a database of Hermes, or one of its own transcripts. A database
// that cannot be read is Hermes' if there are other files of Hermes.
func (source) Owns(home fs.FS) bool {
	for _, dir := range profiles(home) {
		name := path.Join(dir, database)
		if history.Exists(home, name) && (ownFiles(home, dir) || history.HasTables(home, name, columns)) {
			return true
		}
		for _, name := range transcripts(home, dir) {
			if t, err := readTranscript(home, name); err == nil && t.own {
				return true
			}
		}
	}
	return false
}

// ownFiles reports whether a directory has the files that Hermes creates next to its database.
func ownFiles(home fs.FS, dir string) bool {
	return history.Exists(home, path.Join(dir, "config.yaml")) && history.Exists(home, path.Join(dir, "sessions"))
}

// Files lists the databases with their logs, and the transcripts.
func (source) Files(home fs.FS) (names []string) {
	for _, dir := range profiles(home) {
		if name := path.Join(dir, database); history.Exists(home, name) {
			names = append(names, litefile.Files(home, name)...)
		}
		names = append(names, transcripts(home, dir)...)
	}
	return names
}

// Sessions yields the sessions of all profiles.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	return func(yield func(history.Session, error) bool) {
		for _, dir := range profiles(home) {
			for s, err := range profileSessions(home, dir) {
				if !yield(s, err) {
					return
				}
			}
		}
	}
}

// profileSessions yields the sessions of a profile. If a session has a transcript with more
// messages than the database, which is so for sessions that began before the database, the
// transcript is read instead.
func profileSessions(home fs.FS, dir string) iter.Seq2[history.Session, error] {
	return func(yield func(history.Session, error) bool) {
		var rows []row
		if name := path.Join(dir, database); history.Exists(home, name) {
			var err error
			if rows, err = list(home, name); err != nil && !yield(history.Session{}, &fs.PathError{Op: "read", Path: name, Err: err}) {
				return
			}
		}
		for _, name := range transcripts(home, dir) {
			t, err := readTranscript(home, name)
			if err != nil {
				if !yield(history.Session{}, &fs.PathError{Op: "read", Path: name, Err: err}) {
					return
				}
				continue
			}
			rows = t.merge(rows)
		}
		for _, r := range rows {
			if !yield(r.Session, nil) {
				return
			}
		}
	}
}

// row is a session with the number of its messages.
type row struct {
	history.Session
	messages int
}

// merge adds the session of a transcript, or replaces the records of one with fewer messages.
func (t *transcript) merge(rows []row) []row {
	i := slices.IndexFunc(rows, func(r row) bool { return r.ID == t.id })
	if i < 0 {
		return append(rows, row{t.session(), len(t.messages)})
	}
	if len(t.messages) > rows[i].messages {
		rows[i].Records, rows[i].messages = t.session().Records, len(t.messages)
	}
	return rows
}

// retention returns the age at which Hermes deletes ended sessions: 90 days unless its
// settings differ.
func retention(home fs.FS) time.Duration {
	const day = 24 * time.Hour
	data, err := fs.ReadFile(home, "config.yaml")
	if err != nil {
		return 90 * day
	}
	if slices.Contains([]string{"false", "no", "off"}, strings.ToLower(setting(string(data), "sessions", "auto_prune"))) {
		return 0
	}
	if days, err := strconv.Atoi(setting(string(data), "sessions", "retention_days")); err == nil && days > 0 && days < 100_000 {
		return time.Duration(days) * day
	}
	return 90 * day
}

// setting returns a scalar in a section of settings in YAML; empty if there is none.
func setting(yaml, section, name string) string {
	inside := false
	for line := range strings.Lines(yaml) {
		text, _, _ := strings.Cut(line, "#")
		key, value, _ := strings.Cut(strings.TrimSpace(text), ":")
		switch {
		case key == "":
		case !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "\t"):
			inside = key == section
		case inside && key == name:
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}
