package mask

import (
	"bytes"
	"slices"

	"firn.dev/internal/base/rawjson"
)

// JSON masks the secrets in the strings of a JSON value and keeps every other byte, so the
// result is JSON with the same structure. A string is interpreted together with the name of
// its member, and a string that contains JSON, such as the arguments of a call, is masked
// as JSON. A number that is named a password becomes a string. It returns the number of
// masked places.
//
// It masks everything within a value that [Text] masks in the same line, except that images
// and signatures of providers are skipped unless they start like a key: they are not text,
// and a changed signature would invalidate the rest.
//
// Member names are kept. Input that is not JSON is masked as text.
func JSON(data []byte) ([]byte, int) {
	out, places := maskOnce(data)
	for n := 0; n < maxAgain && places > 0; n++ {
		again, more := maskOnce(out)
		if more == 0 {
			break
		}
		out, places = again, places+more
	}
	return out, places
}

// maxAgain limits how often masked text is scanned again: after a replacement, the adjacent
// text may look like a secret.
const maxAgain = 8

// maskOnce masks data in a single pass.
func maskOnce(data []byte) ([]byte, int) {
	if out, places, ok := maskValue(data, "", 0); ok {
		return out, places
	}
	text, places := Count(string(data))
	return []byte(text), places
}

// maxNested limits the nesting of JSON within JSON strings.
const maxNested = 4

// maskValue masks a JSON value with a member name. It returns false if data is not JSON.
func maskValue(data []byte, name string, nested int) (out []byte, places int, ok bool) {
	w := jsonMasker{data: data, nested: nested, found: find(string(data))}
	r := rawjson.New(data)
	w.value(&r, place{name: name})
	if r.End() != nil {
		return nil, 0, false
	}
	return append(w.out, data[w.at:]...), w.places, true
}

// jsonMasker copies a JSON value and masks its secrets.
type jsonMasker struct {
	data, out []byte
	// at is the length of data already copied to out.
	at, places, nested int
	// found are the secrets in data as text, from the current offset on.
	found []span
}

// value processes the next value.
func (w *jsonMasker) value(r *rawjson.Reader, p place) {
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
	case rawjson.Number: // true and false are not secrets
		if raw := r.Raw(); p.hidesNumber(string(raw)) {
			w.put(r, raw, Mark, 1)
		}
	default:
		r.Skip()
	}
}

// text processes a string.
func (w *jsonMasker) text(r *rawjson.Reader, p place) {
	raw := r.Raw()
	one := rawjson.New(raw)
	text, ok := one.Text()
	if !ok || isBlob(p.name, text) {
		return
	}
	known, all := w.knownSpans(r.Offset()-len(raw), r.Offset())
	if all && p.element && text != "" && !isPlaceholder(text) {
		w.put(r, raw, Mark, 1)
	} else if out, places := p.maskString(text, known, w.nested); places > 0 {
		w.put(r, raw, out, places)
	}
}

// knownSpans returns the secrets in the string at data[from:to] that were found in its
// context. all is true if the string is inside a private key that is stored line by line in
// an array.
func (w *jsonMasker) knownSpans(from, to int) (parts []span, all bool) {
	for len(w.found) > 0 && w.found[0].to <= from {
		w.found = w.found[1:]
	}
	read, at := from+1, 0 // offsets in the encoded and in the decoded string
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
		gap, fine := decodedLen(w.data[read:s.from])
		part, whole := decodedLen(w.data[s.from:s.to])
		if !fine || !whole { // the match starts or ends within an escape
			break
		}
		parts = append(parts, span{at + gap, at + gap + part})
		read, at = s.to, at+gap+part
	}
	return parts, false
}

// decodedLen returns the decoded length of part of a JSON string, or false if the part
// starts or ends within an escape.
func decodedLen(part []byte) (int, bool) {
	one := rawjson.New(slices.Concat([]byte(`"`), part, []byte(`"`)))
	text, ok := one.Text()
	return len(text), ok && one.End() == nil && !one.Cleaned
}

// put writes a string in place of the value just read.
func (w *jsonMasker) put(r *rawjson.Reader, raw []byte, text string, places int) {
	w.out = append(w.out, w.data[w.at:r.Offset()-len(raw)]...)
	w.out = rawjson.AppendString(w.out, text)
	w.at, w.places = r.Offset(), w.places+places
}
