package pi

import (
	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// link holds the new ID and parent of a line.
type link struct {
	id, parent firn.EntryID
	// resolve maps an entry that the line refers to.
	resolve func(firn.EntryID) firn.EntryID
	// of is the line that this one is a copy of, if any.
	of firn.EntryID
}

// copyField is the member with the original of a copied entry. It is firn's own.
const copyField = "copyOf"

// relink appends the line to dst with another ID and parent. Everything else is preserved
// byte for byte and in order, except for references to other entries.
func relink(dst, line []byte, l link) ([]byte, error) {
	w := linker{b: append(dst, '{'), start: len(dst) + 1, link: l}
	r := rawjson.New(line)
	for ok := r.Object(); ok && r.Member(); {
		w.member(&r)
	}
	if err := r.End(); err != nil {
		return dst, err
	}
	w.ids()
	if l.of != "" && !w.copied {
		w.text(copyField, l.of)
	}
	return append(w.b, '}'), nil
}

// linker writes the members of a line.
type linker struct {
	link
	b     []byte
	start int
	// hasID, hasParent and copied are set once the member is written.
	hasID, hasParent, copied bool
}

// member copies one member.
func (w *linker) member(r *rawjson.Reader) {
	switch name := string(r.Key()); name {
	case "id":
		r.Skip()
		w.putID()
	case "parentId":
		r.Skip()
		w.putParent()
	case "targetId", "firstKeptEntryId", knewField:
		if id, ok := r.Text(); ok {
			w.text(name, w.resolve(firn.EntryID(id)))
			return
		}
		w.raw(name, r.Raw())
	case copyField:
		w.copied = true // it names the original, not a copy
		w.raw(name, r.Raw())
	default:
		w.raw(r.KeyText(), r.Raw())
	}
}

// ids writes the members that the line did not have.
func (w *linker) ids() {
	w.putID()
	w.putParent()
}

func (w *linker) putID() {
	if !w.hasID {
		w.hasID = true
		w.text("id", w.id)
	}
}

func (w *linker) putParent() {
	switch {
	case w.hasParent:
		return
	case w.parent == "":
		w.raw("parentId", []byte("null"))
	default:
		w.text("parentId", w.parent)
	}
	w.hasParent = true
}

func (w *linker) text(name string, id firn.EntryID) {
	w.name(name)
	w.b = rawjson.AppendString(w.b, string(id))
}

// raw writes a sanitized raw value.
func (w *linker) raw(name string, value []byte) {
	if value == nil {
		return // the reader failed and reports the error
	}
	w.name(name)
	value, _ = rawjson.Clean(value)
	w.b = append(w.b, value...)
}

func (w *linker) name(name string) {
	if len(w.b) > w.start {
		w.b = append(w.b, ',')
	}
	w.b = rawjson.AppendString(w.b, name)
	w.b = append(w.b, ':')
}
