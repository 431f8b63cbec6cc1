package fulltext

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/store"
)

// row is the index's record of a session.
type row struct {
	id                      int64
	sid                     firn.ID
	agent, key, source, cwd string
	// sub marks the session of another tool's sub-agent. It is not stored, since sessions of
	// other tools are always read from the beginning.
	sub              bool
	title            firn.Title
	prompt           string
	created, updated int64
	bytes, modified  int64
	parts            int
	archived         bool
	// end is the position up to which the session was read; last and count are the last
	// entry and the number of entries up to there.
	end   firn.Pos
	last  firn.EntryID
	count int
	shape shape
	// unread is the number of unreadable places.
	unread int
}

const rowColumns = "id, sid, agent, key, source, cwd, title, titleSource, prompt, created, updated, bytes, modified, parts, archived, fin, last, count, shape, unread"

func (r *row) values() []any {
	return []any{
		r.id, string(r.sid), r.agent, r.key, r.source, r.cwd, r.title.Name, string(r.title.Source), r.prompt, r.created, r.updated,
		r.bytes, r.modified, r.parts, r.archived, int64(r.end), string(r.last), r.count, r.shape.encode(), r.unread,
	}
}

// scanRow scans a row. It fails if the shape is damaged.
func scanRow(scan func(...any) error) (*row, error) {
	r := &row{}
	var sid, titleSource, last string
	var end int64
	var data []byte
	err := scan(&r.id, &sid, &r.agent, &r.key, &r.source, &r.cwd, &r.title.Name, &titleSource, &r.prompt, &r.created, &r.updated,
		&r.bytes, &r.modified, &r.parts, &r.archived, &end, &last, &r.count, &data, &r.unread)
	if err != nil {
		return nil, err
	}
	r.sid, r.title.Source, r.end, r.last = firn.ID(sid), firn.Source(titleSource), firn.Pos(end), firn.EntryID(last)
	if r.shape, err = decodeShape(data); err != nil {
		return nil, errors.Join(firn.ErrCorrupt, err)
	}
	return r, nil
}

// rowOf returns the row of a session, or nil.
func rowOf(ctx context.Context, db *database, id int64) (*row, error) {
	r, err := scanRow(db.queryRow(ctx, "select "+rowColumns+" from sessions where id = ?", id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return r, explain("look up a session", err)
}

// allRows reads the rows of all sessions.
func allRows(ctx context.Context, db *sql.DB) (map[firn.ID]*row, error) {
	rows, err := db.QueryContext(ctx, "select "+rowColumns+" from sessions")
	if err != nil {
		return nil, explain("read the word index", err)
	}
	defer rows.Close()
	all := make(map[firn.ID]*row)
	for rows.Next() {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return nil, explain("read the word index", err)
		}
		all[r.sid] = r
	}
	return all, explain("read the word index", rows.Err())
}

// unchanged reports whether a session is in the state in which it was indexed.
func (r *row) unchanged(s store.Status) bool {
	return r != nil && r.sameFiles(s) && r.archived == s.Archived
}

// sameFiles reports whether the files of a session are unchanged.
func (r *row) sameFiles(s store.Status) bool {
	return r.bytes == s.Bytes && r.modified == s.Modified.UnixNano() && r.parts == s.Parts && (s.Agent == "" || r.agent == s.Agent)
}

// grew reports whether entries may have been appended to the session and nothing else
// changed.
func (r *row) grew(s store.Status) bool {
	return r.bytes < s.Bytes && r.parts <= s.Parts && (s.Agent == "" || r.agent == s.Agent)
}

func (r *row) setStatus(s store.Status) {
	r.bytes, r.modified, r.parts, r.archived = s.Bytes, s.Modified.UnixNano(), s.Parts, s.Archived
	if s.Agent != "" {
		r.agent = s.Agent
	}
}

func (r *row) owner() owner {
	return owner{session: r.id, agent: r.agent, key: r.key, source: r.source, path: r.cwd, machine: r.sub || isMachine(r.key)}
}

// note updates the row with an entry.
func (r *row) note(e firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Header:
		r.key, r.cwd = b.Key, b.CWD
		if r.agent == "" {
			r.agent = b.Agent
		}
	case *firn.Title:
		if b.Beats(r.title) {
			r.title = *b
		}
	case *firn.Message:
		if r.prompt == "" && b.Role == firn.RoleUser {
			r.prompt = firn.CutText(b.Text(), maxPrompt)
		}
	}
	if ms := clampTime(timeOf(e)); ms > 0 {
		r.updated = ms
		if r.created == 0 {
			r.created = ms
		}
	}
}

const maxPrompt = 100

// repeats reports whether an entry is an automatic title taken from the first message. Such
// a title is not indexed, since the message itself is found.
func (r *row) repeats(e firn.Entry) bool {
	title, ok := e.Body.(*firn.Title)
	if !ok || title.Source != firn.SourceAuto {
		return false
	}
	name := strings.TrimRight(title.Name, "…")
	return name != "" && strings.HasPrefix(strings.Join(strings.Fields(r.prompt), " "), name)
}

// timeOf returns the time of an entry's message, or else the time it was written.
func timeOf(e firn.Entry) time.Time {
	if m, ok := e.Body.(*firn.Message); ok && !m.Time.IsZero() {
		return m.Time
	}
	return e.Time
}

// timeFor returns the time of an entry, or that of the preceding entry if it has none.
func timeFor(e firn.Entry, r *row) time.Time {
	if t := timeOf(e); !t.IsZero() {
		return t
	}
	return time.UnixMilli(r.updated)
}

// isMachine reports whether a key is that of a program: a job, a hook or a sub-agent.
func isMachine(key string) bool {
	k, err := route.Parse(key)
	if err != nil {
		return false
	}
	switch k.Kind() {
	case route.KindCron, route.KindHook, route.KindSubagent:
		return true
	}
	return false
}
