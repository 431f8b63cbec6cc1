package claudecode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// line holds the fields of a line that determine its place in the conversation. Raw values
// are slices of the line.
type line struct {
	kind, subtype string
	uuid          string
	// parent is the uuid of the previous line. hasParent distinguishes a null parent from a
	// missing member.
	parent    string
	hasParent bool
	logical   string // the parent across a compaction
	at        time.Time

	session, cwd, branch, agent string
	request                     string
	sidechain, meta             bool
	summary                     bool // the text of a compaction
	failure                     bool // an API error, shown as a response
	leaf                        string
	title                       string
	hasTitle                    bool
	copyOf                      string

	message, result, compact, attachment, forked, snapshot, firn []byte
}

// readLine decodes a line, but not its message.
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

// member reads the current member. It returns false if the value was not consumed.
func (l *line) member(r *rawjson.Reader) bool {
	name := string(r.Key())
	if field := l.text(name); field != nil {
		return readString(field, r)
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
		return readString(&l.parent, r)
	case "timestamp":
		return l.time(r)
	case "customTitle", "aiTitle", "summary":
		ok := readString(&l.title, r)
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

// time reads a timestamp: a string in any form of RFC 3339 or a number of milliseconds.
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

// stamp parses a time in any form of RFC 3339.
func (l *line) stamp(s string) {
	if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
		l.at = clamp(at)
	}
}

// millis converts milliseconds since 1970 to a time. It returns the zero time if the value
// is out of range.
func millis(ms int64) time.Time {
	const most = 253_402_300_799_999 // the end of the year 9999
	if ms < 0 || ms > most {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// clamp truncates a time to milliseconds, as in entries.
func clamp(at time.Time) time.Time { return millis(at.UnixMilli()) }

// chained reports whether the line is part of the chain of uuids.
func (l *line) chained() bool {
	switch l.kind {
	case "user", "assistant", "system", "attachment", "progress":
		return true
	}
	return false
}

// label returns the kind under which the line is carried.
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

// readString reads a string into field. It returns false if the value is not a string.
func readString(field *string, r *rawjson.Reader) bool {
	s, ok := r.Text()
	if ok {
		*field = s
	}
	return ok
}

// valueOf returns the raw value of an object's member, nil if there is none.
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

// textOf returns an object's member that is a string, "" if there is none.
func textOf(raw []byte, name string) string {
	r := rawjson.New(valueOf(raw, name))
	s, _ := r.Text()
	return s
}

// intOf returns an object's member that is an integer.
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

// keepLine is like keep, for a line that is known to be valid JSON.
func keepLine(data []byte) json.RawMessage {
	if bytes.IndexByte(data, '\n') >= 0 {
		return rawjson.CleanLine(data)
	}
	clean, changed := rawjson.Clean(bytes.TrimSpace(data))
	if changed {
		return clean
	}
	return bytes.Clone(clean)
}

// quote encodes s as a JSON string.
func quote(s string) json.RawMessage { return rawjson.AppendString(nil, s) }
