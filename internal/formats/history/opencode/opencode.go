// Package opencode reads the sessions of opencode from its SQLite database.
//
// A session has messages, a message has parts in the order of their IDs. A tool part holds
// both the call and its result. A message of the assistant may hold several steps, each of
// which was one answer of the model.
package opencode

import (
	"database/sql"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"

	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name: dialect.OpenCode, Homes: []string{".local/share/opencode"}, Source: source{},
		Decoder: func() history.Decoder { return decoder{} },
		Resume:  func(id string) []string { return []string{"opencode", "--session", id} },
	})
}

// source finds sessions in the databases of a home: opencode.db, and opencode-<channel>.db
// of other release channels.
type source struct{}

// Owns reports whether there is a database.
func (source) Owns(home fs.FS) bool { return len(databases(home)) > 0 }

// databases lists the databases in a home.
func databases(home fs.FS) []string {
	entries, err := fs.ReadDir(home, ".")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if ok, _ := path.Match("opencode*.db", e.Name()); ok && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// Files lists the databases and their logs.
func (source) Files(home fs.FS) (names []string) {
	for _, name := range databases(home) {
		names = append(names, litefile.Files(home, name)...)
	}
	return names
}

// Sessions yields the sessions of all databases.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	return history.Each(databases(home), func(name string) ([]history.Session, error) { return list(home, name) })
}

// columns are the columns that are read of each table.
var columns = map[string][]string{
	"session": {"id", "parent_id", "directory", "title", "version", "time_created", "time_updated"},
	"message": {"id", "session_id", "time_created", "data"},
	"part":    {"id", "message_id", "session_id", "data"},
}

// list returns the sessions of one database, oldest first.
func list(home fs.FS, name string) (sessions []history.Session, err error) {
	err = litefile.Read(home, name, func(db *sql.DB) error {
		sessions = nil
		if err := litefile.Check(db, columns, "opencode 1.18"); err != nil {
			return err
		}
		archived := "null"
		if has, err := litefile.Columns(db, "session"); err != nil {
			return err
		} else if has["time_archived"] {
			archived = "time_archived"
		}
		rows, err := db.Query("select id, coalesce(parent_id, ''), directory, title, time_created, time_updated, " + archived + " is not null from session order by time_created, id")
		if err != nil {
			return err
		}
		defer rows.Close() // its error is that of rows.Err
		for rows.Next() {
			var s history.Session
			var created, updated int64
			if err := rows.Scan(&s.ID, &s.Parent, &s.CWD, &s.Title, &created, &updated, &s.Archived); err != nil {
				return err
			}
			s.Sub = s.Parent != ""
			s.Created, s.Updated = history.Millis(created), history.Millis(updated)
			id := s.ID
			s.Records = func() ([][]byte, error) { return records(home, name, id) }
			sessions = append(sessions, s)
		}
		return rows.Err()
	})
	return sessions, err
}

// records returns a record for each message, with its parts.
func records(home fs.FS, name, session string) (all [][]byte, err error) {
	err = litefile.Read(home, name, func(db *sql.DB) error {
		parts, err := readParts(db, session)
		if err != nil {
			return err
		}
		row, err := litefile.Object(db, "select * from session where id = ?", session)
		if err != nil {
			return err
		}
		all = [][]byte{history.Record("session", session, "data", row)}
		rows, err := db.Query("select id, time_created, data from message where session_id = ? order by time_created, id", session)
		if err != nil {
			return err
		}
		defer rows.Close() // its error is that of rows.Err
		for rows.Next() {
			var id, data string
			var created int64
			if err := rows.Scan(&id, &created, &data); err != nil {
				return err
			}
			all = append(all, history.Record("message", id, "created", fmt.Sprint(created), "data", data, "parts", "["+strings.Join(parts[id], ",")+"]"))
		}
		return rows.Err()
	})
	return all, err
}

// readParts returns the parts of each message.
func readParts(db *sql.DB, session string) (map[string][]string, error) {
	rows, err := db.Query("select id, message_id, data from part where session_id = ? order by message_id, id", session)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its error is that of rows.Err
	parts := make(map[string][]string)
	for rows.Next() {
		var id, message, data string
		if err := rows.Scan(&id, &message, &data); err != nil {
			return nil, err
		}
		parts[message] = append(parts[message], string(history.Record("part", id, "data", data)))
	}
	return parts, rows.Err()
}
