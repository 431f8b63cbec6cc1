package mask

import (
	"bytes"
	"slices"

	"firn.dev/internal/base/rawjson"
)

// JSON masks the secrets in the strings of a JSON value, and leaves every other byte
// as it is: what was JSON still is, with the same members in the same places. A string
// is read together with the name of its member, and one that is JSON itself, such as
// the arguments of a call, is masked as that. A number that is named a password becomes
// a string. It returns in how many places.
//
// What [Text] masks within a value of the same line is masked; but images, and the
// signatures that providers set, are not looked into unless they begin as a key does:
// they are no text, and a signature that was changed would make the rest useless.
//
// Names of members stay. What is no JSON is masked as text.
func JSON(data []byte) ([]byte, int) {
	out, places := once(data)
	for n := 0; n < maxAgain && places > 0; n++ {
		again, more := once(out)
		if more == 0 {
			break
		}
		out, places = again, places+more
	}
	return out, places
}

// maxAgain is how often what was masked is looked at again: without a secret, what
// stands beside it may read as one.
const maxAgain = 8

// once masks what is seen at once.
func once(data []byte) ([]byte, int) {
	if out, places, ok := rewritten(data, "", 0); ok {
		return out, places
	}
	text, places := Count(string(data))
	return []byte(text), places
}

// maxNested is how deep JSON within strings of JSON is looked into.
const maxNested = 4

// rewritten is a JSON value that has a name with secrets masked; false if it is none.
func rewritten(data []byte, name string, nested int) (out []byte, places int, ok bool) {
	w := rewriting{data: data, nested: nested, found: find(string(data))}
	r := rawjson.New(data)
	w.value(&r, place{name: name})
	if r.End() != nil {
		return nil, 0, false
	}
	return append(w.out, data[w.at:]...), w.places, true
}

// rewriting goes over a JSON value and writes it anew with secrets masked.
type rewriting struct {
	data, out []byte
	// at is how much of data is in out.
	at, places, nested int
	// found is what is a secret in data as text, from where the reader is.
	found []span
}

// value goes over the next value.
func (w *rewriting) value(r *rawjson.Reader, p place) {
	switch r.Kind() {
	case rawjson.Object:
		for ok := r.Object(); ok && r.Member(); {
			w.value(r, place{name: string(r.Key())})
		}
	case rawjson.Array:
		p.element = true
		for ok := r.Array(); ok && r.Element(); {
			w.value(r, p)
		}
	case rawjson.String:
		w.text(r, p)
	case rawjson.Number: // true and false are no secrets
		if raw := r.Raw(); p.hides(string(raw)) {
			w.put(r, raw, Mark, 1)
		}
	default:
		r.Skip()
	}
}

// text goes over a string.
func (w *rewriting) text(r *rawjson.Reader, p place) {
	raw := r.Raw()
	one := rawjson.New(raw)
	text, ok := one.Text()
	if !ok || blob(p.name, text) {
		return
	}
	known, all := w.known(r.Offset()-len(raw), r.Offset())
	if all && p.element && text != "" && !harmless(text) {
		w.put(r, raw, Mark, 1)
	} else if out, places := p.within(text, known, w.nested); places > 0 {
		w.put(r, raw, out, places)
	}
}

// known is what is a secret of the string that stands in a place, for all that
// stands around it there. All says that it is in the midst of a private key, which
// stands line by line in an array.
func (w *rewriting) known(from, to int) (parts []span, all bool) {
	for len(w.found) > 0 && w.found[0].to <= from {
		w.found = w.found[1:]
	}
	read, at := from+1, 0 // of the string as it is written, and as it is meant
	for _, s := range w.found {
		if s.from >= to {
			break
		}
		if s.from <= from && s.to >= to && bytes.HasSuffix(w.data[:s.to], []byte("-----")) {
			return nil, true
		}
		if s.from <= from || s.to >= to {
			continue
		}
		gap, fine := meant(w.data[read:s.from])
		part, whole := meant(w.data[s.from:s.to])
		if !fine || !whole { // it was read across an escape
			break
		}
		parts = append(parts, span{at + gap, at + gap + part})
		read, at = s.to, at+gap+part
	}
	return parts, false
}

// meant is how long a part of a string of JSON is as it is meant; false if the part
// begins or ends within an escape.
func meant(part []byte) (int, bool) {
	one := rawjson.New(slices.Concat([]byte(`"`), part, []byte(`"`)))
	text, ok := one.Text()
	return len(text), ok && one.End() == nil && !one.Cleaned
}

// put writes a string in the place of the value that was just read.
func (w *rewriting) put(r *rawjson.Reader, raw []byte, text string, places int) {
	w.out = append(w.out, w.data[w.at:r.Offset()-len(raw)]...)
	w.out = rawjson.AppendString(w.out, text)
	w.at, w.places = r.Offset(), w.places+places
}
