package claudecode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// line is what a line of a transcript says, as far as its place in the
// conversation depends on it. Raw values are parts of the line.
type line struct {
	kind, subtype string
	uuid          string
	// parent is the uuid of the line it follows. A line may tell that it has
	// none, which is not the same as telling nothing.
	parent    string
	hasParent bool
	logical   string // the parent across a compaction
	at        time.Time

	session, cwd, branch, agent string
	request                     string
	sidechain, meta             bool
	summary                     bool // the text of a compaction
	failure                     bool // an error of the API, shown as an answer
	leaf                        string
	title                       string
	hasTitle                    bool
	copyOf                      string

	message, result, compact, attachment, forked, snapshot, firn []byte
}

// readLine reads a line. It does not look into messages.
func readLine(data []byte) (line, error) {
	var l line
	r := rawjson.New(data)
	if r.Object() {
		for r.Member() {
			if !l.member(&r) {
				r.Skip()
			}
		}
	} else if r.Err() == nil {
		return l, fmt.Errorf("reading a line of Claude Code: %w: it is not a JSON object", firn.ErrCorrupt)
	}
	if err := r.End(); err != nil {
		return l, fmt.Errorf("reading a line of Claude Code: %w: %w", firn.ErrCorrupt, err)
	}
	if l.uuid == "" {
		l.uuid = privateID(l)
	}
	if l.at.IsZero() && l.kind == "file-history-snapshot" {
		l.stamp(textOf(l.snapshot, "timestamp"))
	}
	return l, nil
}

// member reads the member at hand; false if it is not consumed.
func (l *line) member(r *rawjson.Reader) bool {
	name := string(r.Key())
	if field := l.text(name); field != nil {
		return into(field, r)
	}
	if field := l.raw(name); field != nil {
		*field = r.Raw()
		return true
	}
	if field := l.flag(name); field != nil {
		value, ok := r.Bool()
		*field = value
		return ok
	}
	switch name {
	case "parentUuid":
		l.hasParent = r.Kind() == rawjson.Null || r.Kind() == rawjson.String
		return into(&l.parent, r)
	case "timestamp":
		return l.time(r)
	case "customTitle", "aiTitle", "summary":
		ok := into(&l.title, r)
		l.hasTitle = l.hasTitle || ok
		return ok
	}
	return false
}

func (l *line) text(name string) *string {
	switch name {
	case "type":
		return &l.kind
	case "subtype":
		return &l.subtype
	case "uuid":
		return &l.uuid
	case "logicalParentUuid":
		return &l.logical
	case "sessionId":
		return &l.session
	case "cwd":
		return &l.cwd
	case "gitBranch":
		return &l.branch
	case "agentId":
		return &l.agent
	case "requestId":
		return &l.request
	case "leafUuid":
		return &l.leaf
	case "copyOf":
		return &l.copyOf
	}
	return nil
}

func (l *line) raw(name string) *[]byte {
	switch name {
	case "message":
		return &l.message
	case "toolUseResult":
		return &l.result
	case "compactMetadata":
		return &l.compact
	case "attachment":
		return &l.attachment
	case "forkedFrom":
		return &l.forked
	case "snapshot":
		return &l.snapshot
	case "firn":
		return &l.firn
	}
	return nil
}

func (l *line) flag(name string) *bool {
	switch name {
	case "isSidechain":
		return &l.sidechain
	case "isMeta":
		return &l.meta
	case "isCompactSummary":
		return &l.summary
	case "isApiErrorMessage":
		return &l.failure
	}
	return nil
}

// time reads a timestamp: a text in any form of RFC 3339, or a number of
// milliseconds.
func (l *line) time(r *rawjson.Reader) bool {
	if ms, ok := r.Int(); ok {
		l.at = millis(ms)
		return true
	}
	s, ok := r.Text()
	if !ok {
		return false
	}
	l.stamp(s)
	return true
}

// stamp reads a time in any form of RFC 3339.
func (l *line) stamp(s string) {
	if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
		l.at = clamp(at)
	}
}

// millis is the time so many milliseconds after 1970; zero if no file can hold it.
func millis(ms int64) time.Time {
	const most = 253_402_300_799_999 // the end of the year 9999
	if ms < 0 || ms > most {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// clamp is a time as entries have it: to the millisecond.
func clamp(at time.Time) time.Time { return millis(at.UnixMilli()) }

// chained reports whether the line is a link of the chain.
func (l *line) chained() bool {
	switch l.kind {
	case "user", "assistant", "system", "attachment", "progress":
		return true
	}
	return false
}

// label is what lines of that kind are called when they are carried.
func (l *line) label() string {
	switch {
	case l.kind == "system" && l.subtype != "":
		return "system." + l.subtype
	case l.kind == "attachment":
		if kind := textOf(l.attachment, "type"); kind != "" {
			return "attachment." + kind
		}
	}
	return l.kind
}

// into reads a string into field; false if it is none.
func into(field *string, r *rawjson.Reader) bool {
	s, ok := r.Text()
	if ok {
		*field = s
	}
	return ok
}

// valueOf returns the raw value of an object's member; nil if there is none.
func valueOf(raw []byte, name string) (value []byte) {
	r := rawjson.New(raw)
	if len(raw) == 0 || !r.Object() {
		return nil
	}
	for r.Member() {
		if string(r.Key()) == name {
			value = r.Raw()
			continue
		}
		r.Skip()
	}
	return value
}

// textOf returns the text of an object's member; empty if it has none.
func textOf(raw []byte, name string) string {
	r := rawjson.New(valueOf(raw, name))
	s, _ := r.Text()
	return s
}

// intOf returns a whole number that is an object's member.
func intOf(raw []byte, name string) (int64, bool) {
	value := valueOf(raw, name)
	if value == nil {
		return 0, false
	}
	r := rawjson.New(value)
	return r.Int()
}

// boolOf reports whether an object's member is true.
func boolOf(raw []byte, name string) bool {
	return string(valueOf(raw, name)) == "true"
}

// keep copies a raw value, clean and on one line.
func keep(raw []byte) json.RawMessage {
	kept, err := rawjson.AppendValue(nil, raw)
	if err != nil {
		return nil
	}
	return kept
}

// keepLine is keep for a line that was read before: it is known to be JSON.
func keepLine(data []byte) json.RawMessage {
	if bytes.IndexByte(data, '\n') >= 0 {
		return keep(data)
	}
	clean, changed := rawjson.Clean(bytes.TrimSpace(data))
	if changed {
		return clean
	}
	return bytes.Clone(clean)
}

// quote makes a JSON string.
func quote(s string) json.RawMessage { return rawjson.AppendString(nil, s) }
