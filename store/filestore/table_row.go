package filestore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// The fields of a row that the table itself knows. What else is in it is for
// others to know; it is kept as it is.
const (
	fieldSession = "sessionId"
	fieldUpdated = "updatedAt"
)

// sessionFields tell of the session that a key points at, not of the key. When
// the key is pointed at another one they would be lies: a size that is not
// its size, the transcript of the old one, a time when it did not begin.
var sessionFields = []string{
	"sessionFile", "systemSent", "abortedLastRun",
	"inputTokens", "outputTokens", "totalTokens", "totalTokensFresh", "cacheRead", "cacheWrite",
	"compactionCount", "memoryFlushAt", "memoryFlushCompactionCount",
	"cliSessionIds", "claudeCliSessionId",
	"sessionStartedAt", "lastInteractionAt",
}

const (
	// maxRow bounds the bytes of a row that the table grows itself. What others
	// let grow beyond it is kept, and may gain a few digits.
	maxRow   = 64 << 10
	rowSlack = 64
)

// rowDepth is how far a row is indented in the file.
const rowDepth = 2

// row is what the table has on one key: an object of which a few fields are
// known. A row that is handed out is a copy.
type row struct {
	fields *object
	// err is the first thing that went wrong with setting a field.
	err error
}

// parseRow reads a row; ok is false if the value is no object.
func parseRow(value []byte) (r row, ok bool) {
	fields, err := parseObject(value)
	return row{fields: fields}, err == nil
}

// newRow makes the row of a key that points at a session. A zero time says
// that nobody knows when it was last used.
func newRow(id firn.ID, updated time.Time) row {
	r := row{fields: &object{at: make(map[string]int)}}
	r.setText(fieldSession, string(id))
	if !updated.IsZero() {
		r.setInt(fieldUpdated, updated.UnixMilli())
	}
	return r
}

// id is the session that the row points at, or empty if there is none that
// could be one.
func (r *row) id() firn.ID {
	reader := rawjson.New(r.fields.get(fieldSession))
	text, _ := reader.Text()
	if id := firn.ID(text); id.Check() == nil {
		return id
	}
	return ""
}

// millis reads a time as rows hold it, in milliseconds.
func millis(value []byte) (int64, bool) {
	reader := rawjson.New(value)
	if ms, ok := reader.Int(); ok {
		return ms, true
	}
	ms, ok := reader.Float()
	if !ok || ms < -1<<53 || ms > 1<<53 {
		return 0, false
	}
	return int64(ms), true
}

// get returns the value of a field as it is written, or nil.
func (r *row) get(name string) json.RawMessage { return r.fields.get(name) }

// set gives a field a value of any kind; one that is not JSON makes the whole
// change invalid. A field that has the value already stays as it is laid out.
func (r *row) set(name string, value json.RawMessage) {
	var fresh, old bytes.Buffer
	if err := json.Compact(&fresh, value); err != nil {
		if r.err == nil {
			r.err = fmt.Errorf("%w value of field %s: %w", firn.ErrInvalid, name, err)
		}
		return
	}
	if now := r.fields.get(name); now != nil && json.Compact(&old, now) == nil && bytes.Equal(old.Bytes(), fresh.Bytes()) {
		return
	}
	var laid bytes.Buffer
	if err := json.Indent(&laid, fresh.Bytes(), "    ", "  "); err != nil {
		r.err = err
		return
	}
	r.fields.set(name, laid.Bytes())
}

func (r *row) setText(name, text string) { r.set(name, rawjson.AppendString(nil, text)) }

func (r *row) setInt(name string, n int64) { r.set(name, strconv.AppendInt(nil, n, 10)) }

// setUpdated says that the key was used at a time. It never goes back.
func (r *row) setUpdated(now time.Time) {
	if old, ok := millis(r.fields.get(fieldUpdated)); !ok || now.UnixMilli() > old {
		r.setInt(fieldUpdated, now.UnixMilli())
	}
}

// remove takes fields away.
func (r *row) remove(names ...string) { r.fields.remove(names...) }

// point makes the row point at a session.
func (r *row) point(id firn.ID, now time.Time) {
	if r.id() != id {
		r.remove(sessionFields...)
		r.setText(fieldSession, string(id))
	}
	r.setUpdated(now)
}

// encode writes the row as it stands in the file.
func (r *row) encode() []byte { return r.fields.append(nil, rowDepth) }

func (r *row) clone() row { return row{fields: r.fields.clone()} }

// check refuses a row that has become too large.
func (r *row) check(before int) error {
	after := len(r.encode())
	if after <= maxRow || before > maxRow && after <= before+rowSlack {
		return nil
	}
	return fmt.Errorf("its row would have %d bytes, more than %d: %w", after, maxRow, firn.ErrTooLarge)
}

// fieldNames lists the fields of two rows, each once.
func fieldNames(a, b *object) []string {
	var all []string
	for _, o := range []*object{a, b} {
		for _, m := range o.members {
			if !slices.Contains(all, m.name) {
				all = append(all, m.name)
			}
		}
	}
	return all
}
