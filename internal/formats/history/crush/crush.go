// Package crush reads the sessions of Crush from the SQLite databases of its projects.
//
// Every project has a folder .crush with a database. The parts of a message are one JSON
// array, compressed with zstd by newer versions.
package crush

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// database is the name of a project's database.
const database = "crush.db"

// maxParts is the maximum size of the parts of a message in bytes.
const maxParts = 256 << 20

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name: dialect.Crush, Homes: []string{".crush"}, FindHomes: projects, Source: source{},
		Decoder: func() history.Decoder { return decoder{} },
		Resume:  func(id string) []string { return []string{"crush", "--session", id} },
	})
}

// projects returns the folders of the projects that Crush recorded.
func projects(user fs.FS) (homes []string) {
	data, err := fs.ReadFile(user, ".local/share/crush/projects.json")
	if err != nil {
		return nil
	}
	var list struct {
		Projects []struct {
			Path    string `json:"path"`
			DataDir string `json:"data_dir"`
		} `json:"projects"`
	}
	history.Unmarshal(data, &list)
	for _, p := range list.Projects {
		dir := p.DataDir
		if dir == "" {
			dir = ".crush"
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Path, dir)
		}
		if filepath.IsAbs(dir) {
			homes = append(homes, filepath.Clean(dir))
		}
	}
	return homes
}

// source finds sessions in a project's folder.
type source struct{}

// Owns reports whether there is a database.
func (source) Owns(home fs.FS) bool {
	info, err := fs.Stat(home, database)
	return err == nil && !info.IsDir()
}

// Files lists the database and its log.
func (source) Files(home fs.FS) []string { return litefile.Files(home, database) }

// columns are the columns that are read of each table.
var columns = map[string][]string{
	"sessions": {"id", "parent_session_id", "title", "created_at", "updated_at"},
	"messages": {"id", "session_id", "role", "parts", "model", "created_at"},
}

// Sessions yields the sessions.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	return history.Each([]string{database}, func(string) ([]history.Session, error) { return list(home) })
}

// list returns the sessions, oldest first.
func list(home fs.FS) (sessions []history.Session, err error) {
	err = litefile.Read(home, database, func(db *sql.DB) error {
		sessions = nil
		if err := litefile.Check(db, columns, "Crush 0.96"); err != nil {
			return err
		}
		rows, err := db.Query("select id, coalesce(parent_session_id, ''), title, created_at, updated_at from sessions order by created_at, id")
		if err != nil {
			return err
		}
		defer rows.Close() // its error is that of rows.Err
		for rows.Next() {
			var s history.Session
			var created, updated int64
			if err := rows.Scan(&s.ID, &s.Parent, &s.Title, &created, &updated); err != nil {
				return err
			}
			s.Sub = s.Parent != ""
			s.Created, s.Updated = history.Unix(created), history.Unix(updated)
			id := s.ID
			s.Records = func() ([][]byte, error) { return records(home, id) }
			sessions = append(sessions, s)
		}
		return rows.Err()
	})
	return sessions, err
}

// records returns a record for each message.
func records(home fs.FS, session string) (all [][]byte, err error) {
	err = litefile.Read(home, database, func(db *sql.DB) error {
		row, err := litefile.Object(db, "select * from sessions where id = ?", session)
		if err != nil {
			return err
		}
		all = [][]byte{history.Record("session", session, "data", row)}
		others, err := litefile.ColumnsExcept(db, "messages", "parts")
		if err != nil {
			return err
		}
		parts, err := readParts(db, session)
		if err != nil {
			return err
		}
		rows, err := db.Query("select "+others+" from messages where session_id = ? order by created_at, rowid", session)
		if err != nil {
			return err
		}
		defer rows.Close() // its error is that of rows.Err
		for n := 0; rows.Next() && n < len(parts); n++ {
			row, err := litefile.RowObject(rows)
			if err != nil {
				return err
			}
			all = append(all, history.Record("message", parts[n].id, "data", string(row), "parts", parts[n].json))
		}
		return rows.Err()
	})
	return all, err
}

// stored is the ID of a message with its parts.
type stored struct{ id, json string }

// readParts returns the parts of all messages in order.
func readParts(db *sql.DB, session string) (all []stored, err error) {
	rows, err := db.Query("select id, parts from messages where session_id = ? order by created_at, rowid", session)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its error is that of rows.Err
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxParts))
	if err != nil {
		return nil, err
	}
	defer zip.Close()
	for rows.Next() {
		var id string
		var parts []byte
		if err := rows.Scan(&id, &parts); err != nil {
			return nil, err
		}
		if bytes.HasPrefix(parts, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			plain, err := zip.DecodeAll(parts, nil)
			if err != nil {
				return nil, fmt.Errorf("%w: the parts of message %s: %w", firn.ErrCorrupt, id, err)
			}
			parts = plain
		}
		all = append(all, stored{id, string(parts)})
	}
	return all, rows.Err()
}

// part is a part of a message.
type part struct {
	Type string
	Data json.RawMessage
}
