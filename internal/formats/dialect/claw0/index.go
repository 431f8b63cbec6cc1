package claw0

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// index is an index file: named rows in order.
type index struct{ rows []row }

// row is a session's row in an index. Its value is an object.
type row struct {
	name  string
	value []byte
}

// readIndex reads an index file. If it is missing or invalid, the index is empty; damaged
// then holds the invalid contents.
func readIndex(home fs.FS, name string) (x index, damaged []byte) {
	data, err := fs.ReadFile(home, name)
	if err != nil {
		return index{}, nil
	}
	if rawjson.Valid(data) != nil {
		return index{}, data
	}
	r := rawjson.New(data)
	for r.Object(); r.Member(); {
		x.rows = append(x.rows, row{name: r.KeyText(), value: r.Raw()})
	}
	return x, nil
}

// ofFile returns the row of a transcript of the first version, or -1.
func (x index) ofFile(name string) int {
	return slices.IndexFunc(x.rows, func(r row) bool { return r.text("transcript_file") == name })
}

// named returns the row of this name, or -1.
func (x index) named(name string) int {
	return slices.IndexFunc(x.rows, func(r row) bool { return r.name == name })
}

// text returns a string member of a row.
func (r row) text(name string) (text string) {
	in := rawjson.New(r.value)
	if !in.Object() {
		return ""
	}
	for in.Member() {
		if string(in.Key()) == name && readString(&text, &in) {
			continue
		}
		in.Skip()
	}
	return text
}

// set sets members of a row, in their existing positions; new ones are appended.
func (r *row) set(values ...firn.Field) {
	var fields firn.Fields
	in := rawjson.New(r.value)
	for ok := in.Object(); ok && in.Member(); {
		fields = append(fields, firn.Field{Name: in.KeyText(), Value: in.Raw()})
	}
	for _, v := range values {
		i := slices.IndexFunc(fields, func(f firn.Field) bool { return f.Name == v.Name })
		if i < 0 {
			fields = append(fields, v)
		} else {
			fields[i].Value = v.Value
		}
	}
	r.value = object(fields)
}

// object encodes fields as an object.
func object(fields firn.Fields) []byte {
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(out, f.Name), ':')
		out = append(out, f.Value...)
	}
	return append(out, '}')
}

// bytes encodes the index as claw0 does: indented by two spaces, without a final newline.
func (x index) bytes() ([]byte, error) {
	var fields firn.Fields
	for _, r := range x.rows {
		fields = append(fields, firn.Field{Name: r.name, Value: r.value})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, object(fields), "", "  "); err != nil {
		return nil, fmt.Errorf("writing an index of claw0: %w: %w", firn.ErrInvalid, err)
	}
	return out.Bytes(), nil
}

// Index returns the new index file. An unreadable index is saved under another name and
// rebuilt from the transcripts; claw0 would treat it as empty.
func (l layout) Index(home fs.FS, name string, to dialect.Target) ([]dialect.File, error) {
	file := path.Join(path.Dir(path.Dir(name)), indexName)
	x, damaged := readIndex(home, file)
	var files []dialect.File
	if damaged != nil {
		files = append(files, dialect.File{Path: file + ".corrupt", Data: damaged})
		x.rebuild(home, name)
	}
	if isCurrent(name) {
		x.current(home, name, to)
	} else {
		x.first(home, name, to)
	}
	data, err := x.bytes()
	if err != nil {
		return nil, err
	}
	return append(files, dialect.File{Path: file, Data: data}), nil
}

// rebuild adds rows for the transcripts in the same folder.
func (x *index) rebuild(home fs.FS, name string) {
	for _, other := range files(home, path.Dir(name)) {
		if other == name {
			continue
		}
		to := dialect.Target{}
		head, ok := sniff(home, other)
		if ok {
			to.Key, to.Created, to.Updated = head.key, head.time, head.time
		}
		if isCurrent(name) {
			x.current(home, other, to)
		} else if ok {
			x.first(home, other, to)
		}
	}
}

// first updates the row of a session of the first version. claw0's message count is the
// number of turns.
func (x *index) first(home fs.FS, name string, to dialect.Target) {
	i := x.ofFile(path.Base(name))
	if i < 0 {
		key := keyOf(to, "")
		if head, ok := sniff(home, name); ok && head.key != "" {
			key = head.key
		}
		if x.named(key) >= 0 { // the key belongs to another session, which must stay reachable
			key += "_" + idOf(home, name)
		}
		if i = x.named(key); i < 0 {
			i = len(x.rows)
			x.rows = append(x.rows, row{name: key, value: []byte("{}")})
		}
		x.rows[i].set(member("session_key", key), member("session_id", idOf(home, name)), member("created_at", stamp(to.Created)))
	}
	turns, _ := count(home, name, to)
	x.rows[i].set(member("updated_at", stamp(to.Updated)), firn.Field{Name: "message_count", Value: turns}, member("transcript_file", path.Base(name)))
}

// current updates the row of a session of the current version.
func (x *index) current(home fs.FS, name string, to dialect.Target) {
	id := path.Base(name[:len(name)-len(extension)])
	i := x.named(id)
	if i < 0 {
		i = len(x.rows)
		x.rows = append(x.rows, row{name: id, value: []byte("{}")})
		x.rows[i].set(member("label", to.Title), member("created_at", stamp(to.Created)))
	}
	if to.Title != "" {
		x.rows[i].set(member("label", to.Title))
	}
	_, lines := count(home, name, to)
	x.rows[i].set(member("last_active", stamp(to.Updated)), firn.Field{Name: "message_count", Value: lines})
}

func member(name, text string) firn.Field {
	return firn.Field{Name: name, Value: rawjson.AppendString(nil, text)}
}

// count counts the turns and the lines of a transcript, reading it in chunks. It estimates
// them if the file does not exist.
func count(home fs.FS, name string, to dialect.Target) (turns, lines []byte) {
	number := func(n int) []byte { return appendNumber(nil, "", int64(n)) }
	f, err := home.Open(name)
	if err != nil {
		return number((to.Messages + 1) / 2), number(to.Messages)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	user, all, begins := 0, 0, true
	for {
		piece, err := in.ReadSlice('\n')
		if begins && len(bytes.TrimSpace(piece)) > 0 {
			all++
			if bytes.HasPrefix(piece, []byte(`{"type": "user"`)) || bytes.HasPrefix(piece, []byte(`{"type":"user"`)) {
				user++
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return number(user), number(all) // after a read error, the partial count is used
		}
		begins = err == nil
	}
}
