package mask

import (
	"strings"

	"firn/internal/rawjson"
)

// JSON masks the secrets in the strings of a JSON value, and leaves every other byte
// as it is: what was JSON still is, with the same members in the same places. A string
// is also masked if its member has the name of a secret, and one that is JSON itself,
// such as the arguments of a call, is masked as that. It returns in how many places.
//
// Images, and the signatures that providers set, are not looked into: they are no
// text, and a signature that was changed would make the rest useless.
//
// Names of members stay. What is no JSON is masked as text.
func JSON(data []byte) ([]byte, int) {
	if out, places, ok := rewritten(data, 0); ok {
		return out, places
	}
	text, places := Count(string(data))
	return []byte(text), places
}

// maxNested is how deep JSON within strings of JSON is looked into.
const maxNested = 4

// rewritten is a JSON value with secrets masked; false if it is none.
func rewritten(data []byte, nested int) (out []byte, places int, ok bool) {
	w := rewriting{data: data, nested: nested}
	r := rawjson.New(data)
	w.value(&r, "")
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
}

// value goes over the next value, which has a name.
func (w *rewriting) value(r *rawjson.Reader, name string) {
	switch r.Kind() {
	case rawjson.Object:
		for ok := r.Object(); ok && r.Member(); {
			w.value(r, string(r.Key()))
		}
	case rawjson.Array:
		for ok := r.Array(); ok && r.Element(); {
			w.value(r, name)
		}
	case rawjson.String:
		w.text(r, name)
	default:
		r.Skip()
	}
}

// text goes over a string.
func (w *rewriting) text(r *rawjson.Reader, name string) {
	raw := r.Raw()
	one := rawjson.New(raw)
	text, ok := one.Text()
	if !ok || blob(name, text) {
		return
	}
	out, places := within(text, name, w.nested)
	if places == 0 {
		return
	}
	w.out = append(w.out, w.data[w.at:r.Offset()-len(raw)]...)
	w.out = rawjson.AppendString(w.out, out)
	w.at, w.places = r.Offset(), w.places+places
}

// within masks a string that has a name.
func within(text, name string, nested int) (string, int) {
	if start := strings.TrimLeft(text, " \t\r\n"); nested < maxNested && start != "" && (start[0] == '{' || start[0] == '[') {
		if out, places, ok := rewritten([]byte(text), nested+1); ok {
			return string(out), places
		}
	}
	if assigned(name, text) {
		return Mark, 1
	}
	return Count(text)
}

// assigned reports whether a whole text is a secret because of its name.
func assigned(name, text string) bool {
	kind := sortOf(name)
	if kind == none || kind >= key && len(text) > keyBytes {
		return false
	}
	v := value{to: len(text), quoted: 1}
	return v.convincing(text, kind) && !folder(name, text) && !harmless(text)
}

// signatures are the names of what providers sign or seal, in all formats.
var signatures = map[string]bool{
	"signature": true, "thinkingSignature": true, "textSignature": true, "thoughtSignature": true, "thought_signature": true, "encrypted_content": true,
}

// The least lengths of a signature, and of an image.
const (
	signatureBytes = 64
	imageBytes     = 256
)

// blob reports whether a string is no text: an image, or what a provider signed.
func blob(name, text string) bool {
	if head, rest, ok := strings.Cut(text, ";base64,"); ok && len(head) < 64 && strings.HasPrefix(head, "data:") {
		return base64ed(rest)
	}
	return (signatures[name] && len(text) >= signatureBytes || name == "data" && len(text) >= imageBytes) && base64ed(text)
}

// base64ed reports whether a text is written in base64.
func base64ed(text string) bool {
	text = strings.TrimRight(text, "=")
	for i := range len(text) {
		if c := text[i]; !letter(c) && !digit(c) && strings.IndexByte("+/-_", c) < 0 {
			return false
		}
	}
	return true
}
