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

// Fields of a row that the table uses. Others are preserved.
const (
	fieldSession = "sessionId"
	fieldUpdated = "updatedAt"
)

// sessionFields are the fields of a row that describe the session, not the key. They are
// removed when the key is bound to another session.
var sessionFields = []string{
	"sessionFile", "systemSent", "abortedLastRun",
	"inputTokens", "outputTokens", "totalTokens", "totalTokensFresh", "cacheRead", "cacheWrite",
	"compactionCount", "memoryFlushAt", "memoryFlushCompactionCount",
	"cliSessionIds", "claudeCliSessionId",
	"sessionStartedAt", "lastInteractionAt",
}

const (
	// maxRow is the maximum size of a row in bytes when firn changes it. A row that others
	// made larger is kept and may grow by rowSlack.
	maxRow   = 64 << 10
	rowSlack = 64
)

// rowDepth is the indentation of a row in the file.
const rowDepth = 2

// row is the table entry of one key: an object with a few known fields. Rows returned by
// the table are copies.
type row struct {
	fields *object
	// err is the first error from setting a field.
	err error
}

// parseRow parses a row; ok is false if the value is not an object.
func parseRow(value []byte) (r row, ok bool) {
	fields, err := parseObject(value)
	return row{fields: fields}, err == nil
}

// newRow returns the row of a key that points to a session. A zero time means that the time
// of the last use is unknown.
func newRow(id firn.ID, updated time.Time) row {
	r := row{fields: &object{at: make(map[string]int)}}
	r.setText(fieldSession, string(id))
	if !updated.IsZero() {
		r.setInt(fieldUpdated, updated.UnixMilli())
	}
	return r
}

// id returns the session of the row, or "" if there is no valid one.
func (r *row) id() firn.ID {
	reader := rawjson.New(r.fields.get(fieldSession))
	text, _ := reader.Text()
	if id := firn.ID(text); id.Check() == nil {
		return id
	}
	return ""
}

// millis parses a time in milliseconds.
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

// get returns the encoded value of a field, or nil.
func (r *row) get(name string) json.RawMessage { return r.fields.get(name) }

// set sets a field to a JSON value; an invalid value makes the whole change fail. The
// formatting of an equal value is kept.
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

// setUpdated sets the time of the last use, unless it is later already.
func (r *row) setUpdated(now time.Time) {
	if old, ok := millis(r.fields.get(fieldUpdated)); !ok || now.UnixMilli() > old {
		r.setInt(fieldUpdated, now.UnixMilli())
	}
}

// remove removes fields.
func (r *row) remove(names ...string) { r.fields.remove(names...) }

// pointTo sets the session of the row.
func (r *row) pointTo(id firn.ID, now time.Time) {
	if r.id() != id {
		r.remove(sessionFields...)
		r.setText(fieldSession, string(id))
	}
	r.setUpdated(now)
}

// encode encodes the row in file format.
func (r *row) encode() []byte { return r.fields.append(nil, rowDepth) }

func (r *row) clone() row { return row{fields: r.fields.clone()} }

// check returns ErrTooLarge if the row has become too large.
func (r *row) check(before int) error {
	after := len(r.encode())
	if after <= maxRow || before > maxRow && after <= before+rowSlack {
		return nil
	}
	return fmt.Errorf("its row would have %d bytes, more than %d: %w", after, maxRow, firn.ErrTooLarge)
}

// fieldNames returns the fields of two rows without duplicates.
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
