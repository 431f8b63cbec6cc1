package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/provider"
)

// writer writes JSON members in call order, so that the same request always gives the same
// bytes. It keeps the first error.
type writer struct {
	b   []byte
	err error
}

// raw writes bytes unchanged.
func (w *writer) raw(s string) { w.b = append(w.b, s...) }

// next starts the next member or element: it writes a comma unless the object or array is
// empty.
func (w *writer) next() {
	if n := len(w.b); n > 0 && w.b[n-1] != '{' && w.b[n-1] != '[' {
		w.b = append(w.b, ',')
	}
}

// name starts a member. The name must not need escaping.
func (w *writer) name(s string) {
	w.next()
	w.raw(`"` + s + `":`)
}

// text writes a string.
func (w *writer) text(s string) { w.b = rawjson.AppendString(w.b, s) }

// member writes a string member.
func (w *writer) member(name, value string) {
	w.name(name)
	w.text(value)
}

// number writes a number member.
func (w *writer) number(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// value writes raw JSON on one line.
func (w *writer) value(raw json.RawMessage) error {
	b, err := rawjson.AppendValue(w.b, raw)
	if err != nil {
		return err
	}
	w.b = b
	return nil
}

// dataURL writes an image as a data URL.
func (w *writer) dataURL(image firn.Image) {
	w.text("data:" + image.MimeType + ";base64," + image.Data)
}

// function writes the members of a tool description.
func (w *writer) function(tool provider.Tool) {
	w.member("name", tool.Name)
	if tool.Description != "" {
		w.member("description", tool.Description)
	}
	w.name("parameters")
	if len(tool.Schema) == 0 {
		w.raw(`{"type":"object","properties":{}}`)
	} else if err := w.value(tool.Schema); err != nil && w.err == nil {
		w.err = fmt.Errorf("%w schema of tool %s: %v", firn.ErrInvalid, tool.Name, err)
	}
}

// errNothing means that the window has no message to answer.
var errNothing = fmt.Errorf("%w window: it has no messages", firn.ErrInvalid)

// maxOutput returns the output limit: the requested one, bounded by the model's.
func maxOutput(req provider.Request, spec provider.Spec) int64 {
	if spec.MaxOutput > 0 {
		return min(req.MaxTokens, spec.MaxOutput)
	}
	return req.MaxTokens
}

// cacheKey returns the session as the server's cache key, in at most 64 characters.
func cacheKey(session firn.ID) string {
	if len(session) <= 64 {
		return string(session)
	}
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:])
}

// split separates the parts of a message into texts and images.
func split(parts []firn.Part) (text []string, images []firn.Image) {
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Text:
			text = append(text, p.Text)
		case firn.Image:
			images = append(images, p)
		}
	}
	return text, images
}
