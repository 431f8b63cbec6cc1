package cursor

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"strings"

	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/history"
)

// columns are the columns of the editor's table.
var columns = map[string][]string{"cursorDiskKV": {"key", "value"}}

// composer describes a session. Newer versions have the first members in a table of headers
// too.
type composer struct {
	Name, Subtitle           string
	CreatedAt, LastUpdatedAt json.RawMessage
	IsArchived               bool
	WorkspaceIdentifier      struct {
		URI struct{ FsPath, Path string }
	}
	SubagentInfo struct{ ParentComposerID string }
	Headers      []struct{ BubbleID string } `json:"fullConversationHeadersOnly"`
	Conversation []json.RawMessage
	Map          map[string]json.RawMessage `json:"conversationMap"`
}

// listEditor returns the sessions of the editor that have messages.
func listEditor(home fs.FS) (sessions []history.Session, err error) {
	err = litefile.Read(home, database, func(db *sql.DB) error {
		sessions = nil
		if err := litefile.Check(db, columns, "Cursor 0.45 to 3"); err != nil {
			return err
		}
		heads, err := readHeads(db)
		if err != nil {
			return err
		}
		first := make(map[int]string) // the first messages of sessions without a folder
		err = eachValue(db, "composerData:", func(id string, value []byte) {
			var c composer
			if !history.Unmarshal(value, &c) || len(c.Headers)+len(c.Conversation) == 0 {
				return // a draft, or one that was deleted
			}
			history.Unmarshal(heads[id], &c)
			s := c.session(id)
			if s.CWD == "" && len(c.Headers) > 0 {
				first[len(sessions)] = "bubbleId:" + id + ":" + c.Headers[0].BubbleID
			}
			s.Records = func() ([][]byte, error) { return editorRecords(home, id) }
			sessions = append(sessions, s)
		})
		for i, key := range first {
			if err == nil {
				sessions[i].CWD, err = folderOf(db, key)
			}
		}
		return err
	})
	return sessions, err
}

// session returns the description of a session.
func (c *composer) session(id string) (s history.Session) {
	s.ID, s.Title, s.Archived = id, cmp.Or(c.Name, history.OneLine(c.Subtitle)), c.IsArchived
	s.CWD = cmp.Or(c.WorkspaceIdentifier.URI.FsPath, c.WorkspaceIdentifier.URI.Path)
	s.Parent = c.SubagentInfo.ParentComposerID
	s.Sub = s.Parent != ""
	s.Created, s.Updated = timeOf(c.CreatedAt), timeOf(c.LastUpdatedAt)
	return s
}

// eachValue calls do with the rest of the key and the value of all rows whose keys have a
// prefix, which ends with a colon.
func eachValue(db *sql.DB, prefix string, do func(rest string, value []byte)) error {
	rows, err := db.Query("select key, value from cursorDiskKV where key >= ? and key < ? and value is not null order by key", prefix, prefix[:len(prefix)-1]+";")
	if err != nil {
		return err
	}
	defer rows.Close() // its error is that of rows.Err
	for rows.Next() {
		var key string
		var value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return err
		}
		do(strings.TrimPrefix(key, prefix), value)
	}
	return rows.Err()
}

// readHeads returns the headers of sessions, which newer versions keep in a table.
func readHeads(db *sql.DB) (map[string][]byte, error) {
	has, err := litefile.Columns(db, "composerHeaders")
	if err != nil || !has["composerId"] || !has["value"] {
		return nil, err
	}
	rows, err := db.Query("select composerId, value from composerHeaders where value is not null")
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its error is that of rows.Err
	heads := make(map[string][]byte)
	for rows.Next() {
		var id string
		var value []byte
		if err := rows.Scan(&id, &value); err != nil {
			return nil, err
		}
		heads[id] = value
	}
	return heads, rows.Err()
}

// folderOf returns the folder of the workspace that a message names; empty if none.
func folderOf(db *sql.DB, key string) (string, error) {
	var value []byte
	err := db.QueryRow("select value from cursorDiskKV where key = ?", key).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	var b struct{ WorkspaceUris []string }
	history.Unmarshal(value, &b)
	if len(b.WorkspaceUris) == 0 {
		return "", nil
	}
	if u, err := url.Parse(b.WorkspaceUris[0]); err == nil && u.Scheme == "file" {
		return u.Path, nil
	}
	return "", nil
}

// left are the members of a session's description that are not copied: keys, messages that are
// records of their own, and versions of files.
var left = map[string]bool{"conversation": true, "conversationMap": true, "originalFileStates": true, "codeBlockData": true}

// editorRecords returns the description of a session and a record for each message, in the
// order of the description. Messages that it does not list, such as those before a restored
// checkpoint, follow.
func editorRecords(home fs.FS, id string) (all [][]byte, err error) {
	err = litefile.Read(home, database, func(db *sql.DB) error {
		var value []byte
		if err := db.QueryRow("select value from cursorDiskKV where key = ?", "composerData:"+id).Scan(&value); err != nil {
			return err
		}
		var c composer
		history.Unmarshal(value, &c)
		all = [][]byte{history.Record("session", id, "data", string(withoutKeys(value)))}
		var order []string
		bubbles := make(map[string][]byte)
		for _, raw := range c.Conversation {
			var b struct{ BubbleID string }
			history.Unmarshal(raw, &b)
			all = append(all, bubble(b.BubbleID, raw, true))
		}
		err := eachValue(db, "bubbleId:"+id+":", func(name string, value []byte) {
			order, bubbles[name] = append(order, name), value
		})
		if err != nil {
			return err
		}
		for _, h := range c.Headers {
			raw := bubbles[h.BubbleID]
			if raw == nil {
				raw = c.Map[h.BubbleID]
			}
			if raw != nil {
				all = append(all, bubble(h.BubbleID, raw, true))
				delete(bubbles, h.BubbleID)
			}
		}
		for _, name := range order {
			if raw := bubbles[name]; raw != nil {
				all = append(all, bubble(name, raw, false))
			}
		}
		return nil
	})
	return all, err
}

// bubble returns the record of a message.
func bubble(id string, raw []byte, listed bool) []byte {
	var b struct{ CreatedAt json.RawMessage }
	history.Unmarshal(raw, &b)
	members := history.Timestamp(timeOf(b.CreatedAt))
	if !listed {
		members = append(members, "listed", "false")
	}
	return history.Record("bubble", id, append(members, "data", string(raw))...)
}

// withoutKeys returns the description of a session without what is left out.
func withoutKeys(value []byte) []byte {
	var members []string
	r := rawjson.New(value)
	for ok := r.Object(); ok && r.Member(); {
		key := r.KeyText()
		if raw := r.Raw(); !left[key] && !strings.HasSuffix(key, "EncryptionKey") {
			members = append(members, key, string(raw))
		}
	}
	return history.Members(members...)
}
