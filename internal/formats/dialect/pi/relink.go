package pi

import (
	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// link is a new place for a line.
type link struct {
	id, parent firn.EntryID
	// meant tells which entry is meant by one that the line points at.
	meant func(firn.EntryID) firn.EntryID
	// of is the line that this one is a copy of, if it is one.
	of firn.EntryID
}

// copyField is the member that tells of which entry a line is a copy. It is
// ours.
const copyField = "copyOf"

// relink adds the line to dst as one with another id and parent. All else is
// as it was, byte for byte and in its order, but for what names other entries.
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
			w.text(name, w.meant(firn.EntryID(id)))
			return
		}
		w.raw(name, r.Raw())
	case copyField:
		w.copied = true // of the first one, not of a copy
		w.raw(name, r.Raw())
	default:
		w.raw(r.KeyText(), r.Raw())
	}
}

// ids writes what the line did not have.
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

// raw writes a value that was read, fit to be read by anybody.
func (w *linker) raw(name string, value []byte) {
	if value == nil {
		return // the reader has failed and will tell
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
