// Package cursor reads the sessions of the editor Cursor and of its command line.
//
// The editor keeps them in a SQLite table of keys and values: composerData:ID describes a
// session and lists its messages, bubbleId:ID:MESSAGE is a message. The command line has a
// database for each session, with its messages by their digests and a root that lists them.
package cursor

import (
	"encoding/json"
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// database is the editor's database in a home; stores are those of the command line.
const (
	database = "globalStorage/state.vscdb"
	stores   = "chats/*/*/store.db"
)

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name:    dialect.Cursor,
		Homes:   []string{".config/Cursor/User", "Library/Application Support/Cursor/User", "AppData/Roaming/Cursor/User", ".cursor"},
		Source:  source{},
		Decoder: func() history.Decoder { return &decoder{} },
	})
}

// source finds sessions in the editor's database and in those of the command line.
type source struct{}

// storeFiles lists the databases of the command line. One without any contents was just
// created.
func storeFiles(home fs.FS) (names []string) {
	found, _ := fs.Glob(home, stores) // the pattern is valid
	for _, name := range found {
		if info, err := fs.Stat(home, name); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			names = append(names, name)
		}
	}
	return names
}

// databases lists the databases.
func databases(home fs.FS) []string {
	names := storeFiles(home)
	if history.Exists(home, database) {
		names = append([]string{database}, names...)
	}
	return names
}

// Owns reports whether there is a database. Other editors have one with the same name, without
// Cursor's table.
func (source) Owns(home fs.FS) bool {
	return history.Exists(home, database) && history.HasTables(home, database, columns) || len(storeFiles(home)) > 0
}

// Files lists the databases, their logs, and the descriptions next to those of the command line.
func (source) Files(home fs.FS) (names []string) {
	for _, name := range databases(home) {
		names = append(names, litefile.Files(home, name)...)
		if about := path.Join(path.Dir(name), aboutFile); name != database && history.Exists(home, about) {
			names = append(names, about)
		}
	}
	return names
}

// Sessions yields the sessions of all databases.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	return history.Each(databases(home), func(name string) ([]history.Session, error) {
		if name == database {
			return listEditor(home)
		}
		s, ok, err := readStore(home, name)
		if err != nil || !ok {
			return nil, err
		}
		return []history.Session{s}, nil
	})
}

// timeOf reads a time: text, or a number of milliseconds, which may be text too.
func timeOf(raw json.RawMessage) time.Time {
	text := strings.Trim(string(raw), `"`)
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return history.Millis(ms)
	}
	return history.ParseTime(text)
}
