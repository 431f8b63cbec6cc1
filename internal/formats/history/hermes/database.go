package hermes

import (
	"database/sql"
	"io/fs"
	"strings"

	"firn.dev/internal/disk/litefile"
	"firn.dev/internal/formats/history"
)

// columns are the columns that are read of each table. Later versions have more.
var columns = map[string][]string{
	"sessions": {"id", "source", "model", "parent_session_id", "started_at", "ended_at"},
	"messages": {"id", "session_id", "role", "content", "tool_call_id", "tool_calls", "timestamp"},
}

// optional returns an expression for a column, or another one if the table does not have it.
func optional(has map[string]bool, column, expression, otherwise string) string {
	if has[column] {
		return expression
	}
	return otherwise
}

// list returns the sessions of a database, oldest first.
func list(home fs.FS, name string) (rows []row, err error) {
	err = litefile.Read(home, name, func(db *sql.DB) error {
		rows = nil
		if err := litefile.Check(db, columns, "Hermes Agent (version 1 to 30)"); err != nil {
			return err
		}
		has, err := litefile.Columns(db, "sessions")
		if err != nil {
			return err
		}
		query := strings.Join([]string{
			"select cast(id as text), coalesce(parent_session_id, '')",
			optional(has, "title", "coalesce(title, '')", "''"),
			optional(has, "cwd", "coalesce(cwd, '')", "''"),
			"source = 'subagent' or " + optional(has, "model_config", "coalesce(model_config, '') like '%\"_delegate_from\"%'", "0"),
			optional(has, "archived", "coalesce(archived, 0) <> 0", "0"),
			"cast(started_at as real), cast(coalesce(ended_at, started_at) as real)",
			"(select count(*) from messages m where m.session_id = sessions.id)",
			"cast(coalesce((select max(timestamp) from messages m where m.session_id = sessions.id), 0) as real)",
		}, ", ")
		found, err := db.Query(query + " from sessions order by started_at, id")
		if err != nil {
			return err
		}
		defer found.Close() // its error is that of found.Err
		for found.Next() {
			var r row
			var started, ended, last float64
			if err := found.Scan(&r.ID, &r.Parent, &r.Title, &r.CWD, &r.Sub, &r.Archived, &started, &ended, &r.messages, &last); err != nil {
				return err
			}
			r.Sub = r.Sub && r.Parent != ""
			r.Created, r.Updated = history.Seconds(started), history.Seconds(last)
			if at := history.Seconds(ended); at.After(r.Updated) {
				r.Updated = at
			}
			id := r.ID
			r.Records = func() ([][]byte, error) { return records(home, name, id) }
			rows = append(rows, r)
		}
		return found.Err()
	})
	return rows, err
}

// records returns the session's row, its system prompt, and a record for each message.
func records(home fs.FS, name, session string) (all [][]byte, err error) {
	err = litefile.Read(home, name, func(db *sql.DB) error {
		others, err := litefile.ColumnsExcept(db, "sessions", "system_prompt")
		if err != nil {
			return err
		}
		object, err := litefile.Object(db, "select "+others+" from sessions where id = ?", session)
		if err != nil {
			return err
		}
		all = [][]byte{history.Record("session", session, "data", object)}
		prompt, err := systemPrompt(db, session)
		if err != nil {
			return err
		}
		if prompt != "" {
			all = append(all, history.Record("system", "system", "text", history.Quote(prompt)))
		}
		messages, err := readMessages(db, session)
		all = append(all, messages...)
		return err
	})
	return all, err
}

// systemPrompt returns the system prompt of a session, which newer versions store once for
// all sessions that have it.
func systemPrompt(db *sql.DB, session string) (prompt string, err error) {
	has, err := litefile.Columns(db, "sessions")
	if err != nil {
		return "", err
	}
	texts := optional(has, "system_prompt", "system_prompt", "null")
	if has["system_prompt_hash"] {
		texts += ", (select p.prompt from system_prompts p where p.hash = system_prompt_hash)"
	}
	err = db.QueryRow("select coalesce("+texts+", '') from sessions where id = ?", session).Scan(&prompt)
	return prompt, err
}

// readMessages returns a record for each message, in the order in which they were added. A
// content that is a list of parts has a prefix with a zero byte in the database; it is the
// member "parts" of the record.
func readMessages(db *sql.DB, session string) (all [][]byte, err error) {
	others, err := litefile.ColumnsExcept(db, "messages", "content", "display_identity")
	if err != nil {
		return nil, err
	}
	const isList = "substr(cast(content as blob), 1, 6) = x'006a736f6e3a'"
	rows, err := db.Query("select case when "+isList+" then null else content end as content, case when "+isList+
		" then cast(substr(cast(content as blob), 7) as text) end as parts, cast(id as text) as id_text, cast(timestamp as real) as at, "+others+
		" from messages where session_id = ? order by id", session)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // its error is that of rows.Err
	for rows.Next() {
		object, err := litefile.RowObject(rows)
		if err != nil {
			return nil, err
		}
		var m struct {
			ID string  `json:"id_text"`
			At float64 `json:"at"`
		}
		history.Unmarshal(object, &m)
		all = append(all, history.Record("message", m.ID, append(history.Timestamp(history.Seconds(m.At)), "data", string(object))...))
	}
	return all, rows.Err()
}
