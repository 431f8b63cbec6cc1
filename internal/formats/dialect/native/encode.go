package native

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Append appends the entry to dst as one line without a newline. Members are in pi's order,
// followed by firn's own and unknown ones. A zero time, an empty optional text and a nil
// raw value are omitted.
//
// If Extra holds a member that also has a field, because its value in the file did not fit
// the field, both are written if the field is set.
func (Dialect) Append(dst []byte, e firn.Entry) ([]byte, error) {
	enc := encoder{b: dst}
	enc.entry(&e)
	if enc.err != nil {
		return dst, fmt.Errorf("writing %s: %w", describe(&e), enc.err)
	}
	return enc.b, nil
}

// describe returns a description of an entry for errors.
func describe(e *firn.Entry) string {
	switch {
	case e.Body == nil:
		return fmt.Sprintf("entry %q", e.ID)
	case e.ID == "":
		return fmt.Sprintf("an entry of type %q", e.Body.Kind())
	}
	return fmt.Sprintf("entry %q of type %q", e.ID, e.Body.Kind())
}

// encoder encodes one line. Its methods append to b; after the first error, b must not be
// used.
type encoder struct {
	b   []byte
	err error
}

func (w *encoder) entry(e *firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Header:
		w.header(e, b)
	case *firn.Opaque:
		w.opaque(e, b)
	case *firn.Custom:
		w.open(firn.KindCustom)
		w.text("customType", b.Type)
		w.raw("data", b.Data)
		w.close(e)
	case *firn.CustomMessage:
		w.open(firn.KindCustomMessage)
		w.text("customType", b.Type)
		w.parts("content", b.Parts)
		w.boolean("display", b.Display)
		w.raw("details", b.Details)
		w.close(e)
	case nil:
		w.fail("it has no body")
	default:
		w.open(e.Body.Kind())
		w.envelope(e)
		w.body(e.Body)
		w.extra(e.Extra, e)
		w.b = append(w.b, '}')
	}
}

// close ends an entry of the two types whose envelope pi writes last.
func (w *encoder) close(e *firn.Entry) {
	w.envelope(e)
	w.extra(e.Extra, e)
	w.b = append(w.b, '}')
}

// open starts an object with its type.
func (w *encoder) open(kind firn.Kind) {
	w.b = append(w.b, '{')
	w.text("type", string(kind))
}

// envelope writes the members that every entry in the tree has.
func (w *encoder) envelope(e *firn.Entry) {
	if e.ID == "" {
		w.fail("it has no id")
		return
	}
	w.text("id", string(e.ID))
	if e.Parent == "" || e.Parent == firn.Root {
		w.b = append(w.b, `,"parentId":null`...)
	} else {
		w.text("parentId", string(e.Parent))
	}
	w.time("timestamp", e.Time)
}

func (w *encoder) header(e *firn.Entry, h *firn.Header) {
	if h.Session == "" {
		w.fail("the session has no id")
		return
	}
	if e.ID != "" || e.Parent != "" {
		w.fail("a header has no entry id and no parent")
		return
	}
	version := h.Version
	if version == 0 {
		version = 3
	}
	w.open(firn.KindHeader)
	w.integer("version", int64(version))
	w.text("id", string(h.Session))
	w.time("timestamp", e.Time)
	w.text("cwd", h.CWD)
	w.optional("parentSession", h.ParentSession)
	if h.Firn != 0 {
		w.integer("firn", int64(h.Firn))
	}
	w.optional("agent", h.Agent)
	w.optional("key", h.Key)
	w.extra(e.Extra, e)
	w.b = append(w.b, '}')
}

// opaque writes the original line if it still matches the entry.
func (w *encoder) opaque(e *firn.Entry, o *firn.Opaque) {
	was, err := opaque(o.Raw)
	switch {
	case err != nil:
		w.err = fmt.Errorf("%w: its raw data is not a JSON object: %w", firn.ErrInvalid, err)
	case hasNewline(o.Raw):
		w.fail("its raw data has more than one line")
	case was.ID != e.ID || was.Parent != e.Parent && (was.Parent != "" || e.Parent != firn.Root):
		w.fail("its id or parent differs from its raw data, which cannot be changed")
	case was.Body.Kind() != o.Type:
		w.fail("its type differs from its raw data, which cannot be changed")
	case len(e.Extra) > 0:
		w.fail("it has extra fields besides its raw data")
	default:
		w.b = append(w.b, o.Raw...)
	}
}

func hasNewline(raw []byte) bool {
	for _, c := range raw {
		if c == '\n' {
			return true
		}
	}
	return false
}

// body writes the members of the body of an entry.
func (w *encoder) body(body firn.Body) {
	switch b := body.(type) {
	case *firn.Message:
		w.message(b)
	case *firn.Compaction:
		w.text("summary", b.Summary)
		w.optional("firstKeptEntryId", string(b.FirstKept))
		w.integer("tokensBefore", b.TokensBefore)
		w.raw("details", b.Details)
		w.flag("fromHook", b.FromHook)
	case *firn.BranchSummary:
		w.optional("fromId", string(b.From))
		w.text("summary", b.Summary)
		w.raw("details", b.Details)
		w.flag("fromHook", b.FromHook)
	case *firn.Tombstone:
		w.text("targetId", string(b.Target))
		w.optional("reason", b.Reason)
	case *firn.Label:
		w.text("targetId", string(b.Target))
		w.optional("label", b.Name)
	case *firn.Title:
		w.text("name", b.Name)
		w.optional("source", string(b.Source))
	case *firn.ModelChange:
		w.text("provider", b.Provider)
		w.text("modelId", b.Model)
	case *firn.ThinkingChange:
		w.text("thinkingLevel", b.Level)
	case *firn.Head:
		w.optional("reason", b.Reason)
	default:
		w.fail("this dialect does not know its body")
	}
}

// extra writes carried members. It rejects members that determine how a line is read, such
// as its type.
func (w *encoder) extra(fields firn.Fields, e *firn.Entry) {
	for i := range fields {
		switch name := fields[i].Name; name {
		case "type", "role":
			w.fail("an extra field must not be called " + name)
		case "id", "parentId":
			if e != nil {
				w.fail("an extra field must not be called " + name)
			}
		}
		if fields[i].Value == nil {
			w.fail("an extra field has no value")
		}
		w.raw(fields[i].Name, fields[i].Value)
	}
}

// The member writers write the name unescaped if it is a known one.

func (w *encoder) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = rawjson.AppendString(w.b, name)
	w.b = append(w.b, ':')
}

func (w *encoder) text(name, value string) {
	w.name(name)
	w.b = rawjson.AppendString(w.b, value)
}

func (w *encoder) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *encoder) boolean(name string, value bool) {
	w.name(name)
	w.b = strconv.AppendBool(w.b, value)
}

// flag writes a boolean only if it is set.
func (w *encoder) flag(name string, value bool) {
	if value {
		w.boolean(name, true)
	}
}

func (w *encoder) integer(name string, value int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, value, 10)
}

func (w *encoder) float(name string, value float64) {
	w.name(name)
	ok := false
	if w.b, ok = appendFloat(w.b, value); !ok {
		w.fail(name + " is not a number")
	}
}

func (w *encoder) raw(name string, value json.RawMessage) {
	if value == nil {
		return
	}
	w.name(name)
	var err error
	if w.b, err = rawjson.AppendValue(w.b, value); err != nil && w.err == nil {
		w.err = fmt.Errorf("%w: %s is not JSON: %w", firn.ErrInvalid, name, err)
	}
}

func (w *encoder) time(name string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.name(name)
	ok := false
	w.b = append(w.b, '"')
	if w.b, ok = appendTime(w.b, t); !ok {
		w.fail("the year of its time does not have four digits")
	}
	w.b = append(w.b, '"')
}

func (w *encoder) fail(why string) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: %s", firn.ErrInvalid, why)
	}
}
