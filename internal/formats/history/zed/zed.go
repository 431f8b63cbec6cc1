// Package zed reads the threads of the agent of Zed from its SQLite database.
//
// A thread is one JSON object with its messages, compressed with zstd by newer versions. A
// message of the agent holds calls of tools and their results.
package zed

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history"
)

// database is the path of the database in a home.
const database = "threads/threads.db"

// maxThread is the maximum size of a thread in bytes.
const maxThread = 512 << 20

// New returns the tool.
func New() history.Tool {
	return history.New(history.Format{
		Name: dialect.Zed, Homes: []string{".local/share/zed", "Library/Application Support/Zed", "AppData/Local/Zed"}, Source: source{},
		Decoder: func() history.Decoder { return &decoder{} },
	})
}

// source finds threads in the database.
type source struct{}

// Owns reports whether there is a database with threads.
func (source) Owns(home fs.FS) bool {
	return history.Exists(home, database) && history.HasTables(home, database, columns)
}

// Files lists the database and its log.
func (source) Files(home fs.FS) []string {
	if !history.Exists(home, database) {
		return nil
	}
	return litefile.Files(home, database)
}

// columns are the columns that are read. Later versions have more.
var columns = map[string][]string{"threads": {"id", "summary", "updated_at", "data_type", "data"}}

// Sessions yields the threads.
func (source) Sessions(home fs.FS) iter.Seq2[history.Session, error] {
	return history.Each([]string{database}, func(string) ([]history.Session, error) { return list(home) })
}

// list returns the threads, oldest first.
func list(home fs.FS) (sessions []history.Session, err error) {
	err = litefile.Read(home, database, func(db *sql.DB) error {
		sessions = nil
		if err := litefile.Check(db, columns, "Zed 0.2 to 1"); err != nil {
			return err
		}
		has, err := litefile.Columns(db, "threads")
		if err != nil {
			return err
		}
		query := "select id, summary, updated_at"
		for _, name := range []string{"created_at", "parent_id", "folder_paths", "folder_paths_order"} {
			if has[name] {
				query += ", coalesce(" + name + ", '')"
			} else {
				query += ", ''"
			}
		}
		rows, err := db.Query(query + " from threads order by updated_at, id")
		if err != nil {
			return err
		}
		defer rows.Close() // its error is that of rows.Err
		for rows.Next() {
			var s history.Session
			var updated, created, folders, order string
			if err := rows.Scan(&s.ID, &s.Title, &updated, &created, &s.Parent, &folders, &order); err != nil {
				return err
			}
			s.Sub, s.CWD = s.Parent != "", firstFolder(folders, order)
			s.Created, s.Updated = history.ParseTime(created), history.ParseTime(updated)
			if s.Created.IsZero() {
				s.Created = s.Updated // the first versions recorded no other time
			}
			id := s.ID
			s.Records = func() ([][]byte, error) { return records(home, id) }
			sessions = append(sessions, s)
		}
		return rows.Err()
	})
	return sessions, err
}

// firstFolder returns the folder of a project that the user added first. Folders are lines,
// sorted; the order lists for each its place.
func firstFolder(folders, order string) string {
	lines, places := strings.Split(folders, "\n"), strings.Split(order, ",")
	if len(lines) == len(places) {
		for i, place := range places {
			if strings.TrimSpace(place) == "0" {
				return lines[i]
			}
		}
	}
	return lines[0]
}

// records returns the thread without its messages, and a record for each message.
func records(home fs.FS, id string) (all [][]byte, err error) {
	var kind string
	var data []byte
	var row string
	err = litefile.Read(home, database, func(db *sql.DB) error {
		others, err := litefile.ColumnsExcept(db, "threads", "data")
		if err != nil {
			return err
		}
		if row, err = litefile.Object(db, "select "+others+" from threads where id = ?", id); err != nil {
			return err
		}
		return db.QueryRow("select data_type, data from threads where id = ?", id).Scan(&kind, &data)
	})
	if err != nil {
		return nil, err
	}
	if data, err = unpack(kind, data); err != nil {
		return nil, fmt.Errorf("the thread %s: %w", id, err)
	}
	r := rawjson.New(data)
	if !json.Valid(data) || r.Kind() != rawjson.Object {
		return nil, fmt.Errorf("the thread %s: %w: it is not a JSON object", id, firn.ErrCorrupt)
	}
	var members []string
	var messages []json.RawMessage
	for ok := r.Object(); ok && r.Member(); {
		key := r.KeyText()
		raw := r.Raw()
		if key == "messages" && json.Unmarshal(raw, &messages) == nil {
			continue
		}
		members = append(members, key, string(raw))
	}
	all = [][]byte{history.Record("thread", id, "row", row, "data", string(history.Members(members...)))}
	for i, raw := range messages {
		all = append(all, history.Record("message", strconv.Itoa(i+1), "data", string(raw)))
	}
	return all, nil
}

// unpack returns the JSON of a thread.
func unpack(kind string, data []byte) ([]byte, error) {
	switch kind {
	case "json":
		return data, nil
	case "zstd":
		zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxThread))
		if err != nil {
			return nil, err
		}
		defer zip.Close()
		plain, err := zip.DecodeAll(data, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", firn.ErrCorrupt, err)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w: its data is of type %q, firn reads json and zstd", firn.ErrUnsupported, kind)
}
