package openclaw

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// tableName is the file that maps keys to sessions, next to the transcripts of an agent.
const tableName = "sessions.json"

// table holds the rows of that file in order, each with its original members.
type table []row

// row is the value of a key.
type row struct {
	key    string
	fields firn.Fields
	raw    json.RawMessage
}

// readTable reads the table of a directory. It is empty if the file does not exist. It
// fails with ErrCorrupt if the file is invalid.
func readTable(home fs.FS, dir string) (table, error) {
	name := path.Join(dir, tableName)
	data, err := fs.ReadFile(home, name)
	if err != nil {
		if !isFile(home, name) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading the table of sessions %s: %w", name, err)
	}
	t, err := parseTable(data)
	if err != nil {
		return nil, fmt.Errorf("reading the table of sessions %s: %w: %w", name, firn.ErrCorrupt, err)
	}
	return t, nil
}

func parseTable(data []byte) (table, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if rawjson.IsBlank(data) {
		return nil, nil
	}
	if err := rawjson.Valid(data); err != nil {
		return nil, err
	}
	var t table
	for _, f := range parseFields(data) {
		t = append(t, row{key: f.Name, raw: f.Value, fields: parseFields(f.Value)})
	}
	return t, nil
}

// parseFields decodes the members of an object, none if it is not an object.
func parseFields(raw []byte) (fields firn.Fields) {
	r := rawjson.New(raw)
	for ok := r.Object(); ok && r.Member(); {
		name := r.KeyText()
		fields = append(fields, firn.Field{Name: name, Value: bytes.Clone(r.Raw())})
	}
	return fields
}

// append appends the table to dst as JSON.stringify(table, null, 2) would. Numbers, escapes
// and order are preserved.
func (t table) append(dst []byte) ([]byte, error) {
	flat := []byte{'{'}
	for i, r := range t {
		if i > 0 {
			flat = append(flat, ',')
		}
		flat = append(rawjson.AppendString(flat, r.key), ':')
		flat = append(flat, r.raw...)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, append(flat, '}'), "", "  "); err != nil {
		return dst, err
	}
	return append(dst, out.Bytes()...), nil
}

// text returns a string member, "" if there is none.
func (r row) text(name string) string {
	value := rawjson.New(r.fields.Get(name))
	s, _ := value.Text()
	return s
}

// millis returns a member that is a time in milliseconds since 1970.
func (r row) millis(name string) int64 {
	value := rawjson.New(r.fields.Get(name))
	if n, ok := value.Int(); ok {
		return n
	}
	f, _ := value.Float()
	return int64(f)
}

// time returns millis as a time, the zero time if there is none.
func (r row) time(name string) time.Time {
	if ms := r.millis(name); ms > 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

// title returns the title that OpenClaw displays for the session.
func (r row) title() string {
	for _, name := range []string{"label", "displayName", "subject"} {
		if s := strings.TrimSpace(r.text(name)); s != "" {
			return s
		}
	}
	return ""
}

// set sets a member, in its existing position if it has one.
func (r *row) set(name string, value []byte) {
	fields := append(firn.Fields(nil), r.fields...)
	found := false
	for i := range fields {
		if fields[i].Name == name {
			fields[i].Value, found = value, true
		}
	}
	if !found {
		fields = append(fields, firn.Field{Name: name, Value: value})
	}
	r.fields = fields
}

// unset removes members.
func (r *row) unset(names ...string) {
	var fields firn.Fields
	for _, f := range r.fields {
		gone := false
		for _, name := range names {
			gone = gone || f.Name == name
		}
		if !gone {
			fields = append(fields, f)
		}
	}
	r.fields = fields
}

// encode writes the members to the row's value.
func (r *row) encode() {
	raw := []byte{'{'}
	for i, f := range r.fields {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(rawjson.AppendString(raw, f.Name), ':')
		raw = append(raw, f.Value...)
	}
	r.raw = append(raw, '}')
}
