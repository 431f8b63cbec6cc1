package cursor

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"time"

	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/history"
)

// storeColumns are the columns of a database of the command line.
var storeColumns = map[string][]string{"blobs": {"id", "data"}, "meta": {"key", "value"}}

// aboutFile describes a session next to its database, in newer versions.
const aboutFile = "meta.json"

// store is a session of the command line.
type store struct {
	meta     json.RawMessage
	messages []message
}

// message is a message with its digest. It is listed unless it is no longer in the
// conversation, as before a summary.
type message struct {
	id     string
	raw    []byte
	listed bool
}

// readStore reads a session's description; false if the session has no messages.
func readStore(home fs.FS, name string) (s history.Session, ok bool, err error) {
	st, err := openStore(home, name)
	if err != nil {
		return s, false, err
	}
	var meta struct {
		Name      string
		CreatedAt json.RawMessage
	}
	var about struct {
		Title, CWD               string
		CreatedAtMs, UpdatedAtMs json.RawMessage
		IsSubagent               bool
	}
	history.Unmarshal(st.meta, &meta)
	if data, err := fs.ReadFile(home, path.Join(path.Dir(name), aboutFile)); err == nil {
		history.Unmarshal(data, &about)
	}
	s.ID = path.Base(path.Dir(name))
	s.Title, s.CWD, s.Sub = cmp.Or(about.Title, meta.Name), cmp.Or(about.CWD, st.folder()), about.IsSubagent
	s.Created, s.Updated = timeOf(meta.CreatedAt), timeOf(about.UpdatedAtMs)
	if s.Created.IsZero() {
		s.Created = timeOf(about.CreatedAtMs)
	}
	if info, err := fs.Stat(home, name); err == nil && s.Updated.IsZero() {
		s.Updated = info.ModTime().UTC().Truncate(time.Millisecond)
	}
	id := s.ID
	s.Records = func() ([][]byte, error) {
		st, err := openStore(home, name)
		return st.records(id), err
	}
	return s, len(st.messages) > 0, nil
}

// openStore reads a database.
func openStore(home fs.FS, name string) (st store, err error) {
	err = litefile.Read(home, name, func(db *sql.DB) error {
		st = store{}
		if err := litefile.Check(db, storeColumns, "Cursor CLI 2025 and 2026"); err != nil {
			return err
		}
		var coded string
		if err := db.QueryRow("select coalesce((select value from meta where key = '0'), '')").Scan(&coded); err != nil {
			return err
		}
		if st.meta, err = hex.DecodeString(coded); err != nil {
			st.meta = json.RawMessage(coded)
		}
		var meta struct{ LatestRootBlobID string }
		history.Unmarshal(st.meta, &meta)
		return st.readMessages(db, meta.LatestRootBlobID)
	})
	return st, err
}

// readMessages reads the messages in the order of the root. One that it does not list precedes
// the first that was added later.
func (st *store) readMessages(db *sql.DB, root string) error {
	rows, err := db.Query("select id, data from blobs order by rowid")
	if err != nil {
		return err
	}
	defer rows.Close() // its error is that of rows.Err
	var all []message
	var list []string
	for rows.Next() {
		var id string
		var data []byte
		if err := rows.Scan(&id, &data); err != nil {
			return err
		}
		var m struct{ Role string }
		if id == root {
			list = digests(data)
		} else if history.Unmarshal(data, &m) && m.Role != "" {
			all = append(all, message{id: id, raw: data})
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	st.messages = arrange(all, list)
	return nil
}

// arrange returns the messages in the order of the list, with the others in between. Without a
// list all are in the conversation.
func arrange(all []message, list []string) (arranged []message) {
	places, used := make(map[string]int, len(all)), make([]bool, len(all))
	for i, m := range all {
		places[m.id] = i
	}
	for _, id := range list {
		if at, ok := places[id]; ok {
			all[at].listed, used[at] = true, true
		}
	}
	next := 0
	flush := func(end int) {
		for ; next < end; next++ {
			if !used[next] {
				all[next].listed = len(list) == 0
				arranged = append(arranged, all[next])
			}
		}
	}
	for _, id := range list {
		if at, ok := places[id]; ok {
			flush(at)
			arranged = append(arranged, all[at])
		}
	}
	flush(len(all))
	return arranged
}

// digests returns the digests in field 1 of a root, a message of Protocol Buffers. It stops at
// the first byte that is not understood.
func digests(data []byte) (list []string) {
	const size = 32
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 {
			return list
		}
		data = data[n:]
		length := uint64(0)
		switch key & 7 {
		case 0, 2: // a number, or the length of bytes
			if length, n = binary.Uvarint(data); n <= 0 {
				return list
			}
			if data = data[n:]; key&7 == 0 {
				length = 0
			}
		case 1:
			length = 8
		case 5:
			length = 4
		default:
			return list
		}
		if length > uint64(len(data)) {
			return list
		}
		if key == 1<<3|2 && length == size {
			list = append(list, hex.EncodeToString(data[:size]))
		}
		data = data[length:]
	}
	return list
}

// folder returns the folder of the workspace that Cursor names in the first message.
func (st *store) folder() string {
	for _, m := range st.messages {
		var text struct{ Content json.RawMessage }
		history.Unmarshal(m.raw, &text)
		for _, p := range contents(text.Content) {
			if _, rest, ok := strings.Cut(p.Text, "Workspace Path: "); ok {
				name, _, _ := strings.Cut(rest, "\n")
				return strings.TrimSpace(name)
			}
		}
	}
	return ""
}

// records returns the session's description and a record for each message.
func (st *store) records(id string) [][]byte {
	all := [][]byte{history.Record("session", id, "data", string(st.meta))}
	for _, m := range st.messages {
		var members []string
		if !m.listed {
			members = []string{"listed", "false"}
		}
		all = append(all, history.Record("message", m.id, append(members, "data", string(m.raw))...))
	}
	return all
}
