package codex

import (
	"encoding/json"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// members are the members of an object. The values share memory with the line.
type members []firn.Field

// readMembers decodes a single object.
func readMembers(raw []byte) (members, error) {
	r := rawjson.New(raw)
	if !r.Object() {
		return nil, rawjson.Valid(raw)
	}
	f := make(members, 0, 8)
	for r.Member() {
		name := memberName(&r)
		f = append(f, firn.Field{Name: name, Value: r.Raw()})
	}
	return f, r.End()
}

// memberName returns the name of the current member. Common names are not allocated.
func memberName(r *rawjson.Reader) string {
	switch string(r.Key()) {
	case "timestamp":
		return "timestamp"
	case "ordinal":
		return "ordinal"
	case "type":
		return "type"
	case "payload":
		return "payload"
	case "metadata":
		return "metadata"
	case "id":
		return "id"
	case "role":
		return "role"
	case "content":
		return "content"
	case "text":
		return "text"
	case "turn_id":
		return "turn_id"
	case "thread_id":
		return "thread_id"
	case "call_id":
		return "call_id"
	case "item":
		return "item"
	case passthrough:
		return passthrough
	}
	return r.KeyText()
}

// readPrefix decodes the complete members in the prefix of an object.
func readPrefix(raw []byte) (f members) {
	r := rawjson.New(raw)
	for ok := r.Object(); ok && r.Member(); {
		name := r.KeyText()
		at := r
		if value := r.Raw(); value != nil {
			f = append(f, firn.Field{Name: name, Value: value})
		} else {
			return append(f, firn.Field{Name: name, Value: raw[at.Offset():]})
		}
	}
	return f
}

// get returns the last value of this name, nil if there is none or it is null.
func (f members) get(name string) json.RawMessage {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name {
			if string(f[i].Value) == "null" {
				return nil
			}
			return f[i].Value
		}
	}
	return nil
}

// text returns a string member, "" if there is none.
func (f members) text(name string) string {
	s, _ := textValue(f.get(name))
	return s
}

// number returns an integer member, 0 if there is none.
func (f members) number(name string) int64 {
	value := f.get(name)
	if value == nil {
		return 0
	}
	r := rawjson.New(value)
	n, _ := r.Int()
	return n
}

// object returns the members of an object member, nil if there is none.
func (f members) object(name string) members {
	inner, err := readMembers(f.get(name))
	if err != nil {
		return nil
	}
	return inner
}

// maxExtra limits the size of an unknown member that becomes an extra field. The exact line
// is carried elsewhere.
const maxExtra = 1 << 10

// without returns copies of the other members that are not too long, as extra fields.
func (f members) without(names ...string) firn.Fields {
	var rest firn.Fields
	for _, m := range f {
		if !slices.Contains(names, m.Name) && len(m.Value) <= maxExtra {
			rest = append(rest, firn.Field{Name: extraName(m.Name), Value: rawjson.CleanCopy(m.Value)})
		}
	}
	return rest
}

// extraName returns the name of an extra field for a member. Names with a meaning in firn's
// own files are prefixed.
func extraName(name string) string {
	switch name {
	case "", "type", "role", "id", "parentId", "timestamp", "version", "cwd", "firn", "key", "agent", "parentSession", "origin", "content", "usage", "model":
		return "codex." + name
	}
	return name
}

// textValue decodes a string.
func textValue(raw json.RawMessage) (string, bool) {
	if raw == nil {
		return "", false
	}
	r := rawjson.New(raw)
	return r.Text()
}

// elements lists the elements of an array, none if it is not an array.
func elements(raw json.RawMessage) (list []json.RawMessage) {
	if raw == nil {
		return nil
	}
	r := rawjson.New(raw)
	for ok := r.Array(); ok && r.Element(); {
		list = append(list, r.Raw())
	}
	if r.End() != nil {
		return nil
	}
	return list
}

// quote encodes s as a JSON string.
func quote(s string) json.RawMessage { return rawjson.AppendString(nil, s) }

// parseTime parses a time in Codex's format.
func parseTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t.UTC(), true
}
