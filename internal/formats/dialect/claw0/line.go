package claw0

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// The types of lines. The last four are firn's; claw0 skips them.
const (
	kindSession    = "session"
	kindUser       = "user"
	kindAssistant  = "assistant"
	kindCall       = "tool_use"
	kindResult     = "tool_result"
	kindSystem     = "system"
	kindTitle      = "title"
	kindCompaction = "compaction"
	kindTombstone  = "tombstone"
)

// line is a decoded line. Its raw values are slices of the line.
type line struct {
	kind, id, key   string
	time            time.Time
	epoch           bool // the current version writes times as numbers
	content         []byte
	call, name      string
	input, output   []byte
	failed          bool
	title, source   string
	summary         string
	tokens          int64
	kept, target    int64
	hasKey, hasCall bool
	// other are the unknown members.
	other firn.Fields
}

// readLine decodes a line. It fails with ErrCorrupt if the line is not a JSON object.
func readLine(raw []byte) (line, error) {
	var l line
	if err := rawjson.Valid(raw); err != nil {
		return l, fmt.Errorf("reading a line of claw0: %w: %w", firn.ErrCorrupt, err)
	}
	r := rawjson.New(raw)
	for r.Object(); r.Member(); {
		if name := r.KeyText(); !l.member(name, &r) && !l.ownMember(name, &r) {
			l.other = append(l.other, firn.Field{Name: name, Value: rawjson.CleanLine(r.Raw())})
		}
	}
	return l, nil
}

// member reads a member that claw0 writes. It returns false, with the value not consumed,
// if the member is not one of these.
func (l *line) member(name string, r *rawjson.Reader) (ok bool) {
	switch name {
	case "type":
		return readString(&l.kind, r)
	case "id":
		return readString(&l.id, r)
	case "key":
		l.hasKey = readString(&l.key, r)
		return l.hasKey
	case "created", "ts":
		return l.stamp(r)
	case "content":
		l.content = r.Raw()
		return true
	case "tool_use_id":
		l.hasCall = readString(&l.call, r)
		return l.hasCall
	case "name":
		return readString(&l.name, r)
	case "input":
		l.input = r.Raw()
		return true
	case "output":
		l.output = r.Raw()
		return true
	}
	return false
}

// ownMember reads a member that only firn's printer writes.
func (l *line) ownMember(name string, r *rawjson.Reader) (ok bool) {
	switch name {
	case "is_error":
		l.failed, ok = r.Bool()
	case "title":
		ok = readString(&l.title, r)
	case "source":
		ok = readString(&l.source, r)
	case "summary":
		ok = readString(&l.summary, r)
	case "tokens_before":
		l.tokens, ok = r.Int()
	case "first_kept":
		l.kept, ok = r.Int()
	case "target":
		l.target, ok = r.Int()
	}
	return ok
}

// stamp reads a time: a string, or seconds since 1970.
func (l *line) stamp(r *rawjson.Reader) bool {
	if r.Kind() == rawjson.Number {
		before := *r
		t, ok := parseEpoch(string(r.Raw()))
		if !ok {
			*r = before
			return false
		}
		l.time, l.epoch = t, true
		return true
	}
	before := *r
	text, ok := r.Text()
	t, known := parseTime(text)
	if !ok || !known {
		*r = before
		return false
	}
	l.time = t
	return true
}

// parseTime parses a time in Python's format. Without a zone it is UTC.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}

// parseEpoch parses seconds since 1970 digit by digit: a float64 is not precise enough to
// truncate them.
func parseEpoch(text string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || seconds < 0 || seconds > 253_402_300_799 { // the year 9999
		return time.Time{}, false
	}
	fraction = (fraction + "000")[:3]
	ms, err := strconv.ParseUint(fraction, 10, 16)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, int64(ms)*1e6).UTC(), true
}

// readString reads a string into field. It returns false if the value is not a string.
func readString(field *string, r *rawjson.Reader) bool {
	s, ok := r.Text()
	if ok {
		*field = s
	}
	return ok
}
