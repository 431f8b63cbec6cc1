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

// tableName is the file that tells which key leads to which session, beside
// the transcripts of an agent.
const tableName = "sessions.json"

// table is that file: rows in the order they stand there, each as it is.
type table []row

// row is what is kept under a key.
type row struct {
	key    string
	fields firn.Fields
	raw    json.RawMessage
}

// readTable reads the table of a directory. It is empty if there is none, and
// an ErrCorrupt if it makes no sense.
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

// parseFields reads the members of an object; none if it is no object.
func parseFields(raw []byte) (fields firn.Fields) {
	r := rawjson.New(raw)
	for ok := r.Object(); ok && r.Member(); {
		name := r.KeyText()
		fields = append(fields, firn.Field{Name: name, Value: bytes.Clone(r.Raw())})
	}
	return fields
}

// append adds the table to dst as JSON.stringify(table, null, 2) writes it:
// numbers, escapes and the order of everything as they were.
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

// text is a member that is a text; "" if it is none.
func (r row) text(name string) string {
	value := rawjson.New(r.fields.Get(name))
	s, _ := value.Text()
	return s
}

// millis is a member that is a time in milliseconds since 1970.
func (r row) millis(name string) int64 {
	value := rawjson.New(r.fields.Get(name))
	if n, ok := value.Int(); ok {
		return n
	}
	f, _ := value.Float()
	return int64(f)
}

// time is millis as a time; the zero time if there is none.
func (r row) time(name string) time.Time {
	if ms := r.millis(name); ms > 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

// title is what OpenClaw shows for the session.
func (r row) title() string {
	for _, name := range []string{"label", "displayName", "subject"} {
		if s := strings.TrimSpace(r.text(name)); s != "" {
			return s
		}
	}
	return ""
}

// set gives a member a value, in the place where it stood.
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

// unset takes members away.
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

// spell writes the members as the row's value.
func (r *row) spell() {
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
