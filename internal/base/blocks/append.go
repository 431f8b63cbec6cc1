package blocks

import (
	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Append appends content as an array of blocks. A tool result that consists of a single
// plain text is written as a string, as most tools do; is_error is written only if it is
// true. Extra fields are written only if the API knows them, because it rejects all others.
// Signatures are always written: omitting those of another provider is up to the caller.
func Append(dst []byte, parts []firn.Part, style Style) []byte {
	dst = append(dst, '[')
	for i, p := range parts {
		if i > 0 {
			dst = append(dst, style.comma()...)
		}
		dst = AppendPart(dst, p, style)
	}
	return append(dst, ']')
}

// AppendPart appends one block.
func AppendPart(dst []byte, p firn.Part, style Style) []byte {
	w := writer{dst: dst, style: style}
	switch p := p.(type) {
	case firn.Text:
		w.beginObject("text")
		w.text("text", p.Text)
		w.extra(p.Extra)
	case firn.Thinking:
		w.thinking(p)
	case firn.Image:
		w.image(p)
	case firn.ToolCall:
		w.beginObject("tool_use")
		w.text("id", p.ID)
		w.text("name", p.Name)
		w.raw("input", p.Arguments, "{}")
		w.extra(p.Extra)
	case firn.ToolResult:
		w.toolResult(p)
	case firn.Shell:
		w.beginObject("text")
		w.text("text", "$ "+p.Command+"\n"+p.Output)
	case firn.OpaquePart:
		return w.opaque(p)
	}
	return append(w.dst, '}')
}

// writer writes the members of one block.
type writer struct {
	dst   []byte
	style Style
}

func (w *writer) beginObject(kind string) {
	w.dst = append(w.dst, `{"type"`...)
	w.dst = append(w.dst, w.style.colon()...)
	w.dst = rawjson.AppendString(w.dst, kind)
}

func (w *writer) name(name string) {
	w.dst = append(w.dst, w.style.comma()...)
	w.dst = rawjson.AppendString(w.dst, name)
	w.dst = append(w.dst, w.style.colon()...)
}

func (w *writer) text(name, value string) {
	w.name(name)
	w.dst = rawjson.AppendString(w.dst, value)
}

// raw writes a member whose value is JSON, or fallback if the value is invalid.
func (w *writer) raw(name string, value []byte, fallback string) {
	w.name(name)
	var err error
	if w.dst, err = AppendValue(w.dst, value, w.style); err != nil {
		w.dst = append(w.dst, fallback...)
	}
}

// extra writes the extra fields that the API knows.
func (w *writer) extra(fields firn.Fields) {
	for _, f := range fields {
		switch f.Name {
		case "cache_control", "citations", "caller":
			w.raw(f.Name, f.Value, "null")
		}
	}
}

func (w *writer) thinking(p firn.Thinking) {
	if p.Redacted {
		w.beginObject("redacted_thinking")
		w.text("data", p.Signature)
		return
	}
	w.beginObject("thinking")
	w.text("thinking", p.Text)
	w.text("signature", p.Signature)
}

func (w *writer) image(p firn.Image) {
	mime := p.MimeType
	if mime == "" {
		mime = "image/png" // the API requires one; most images in chats are PNG
	}
	w.beginObject("image")
	w.name("source")
	source := writer{dst: w.dst, style: w.style}
	source.beginObject("base64")
	source.text("media_type", mime)
	source.text("data", p.Data)
	w.dst = append(source.dst, '}')
	w.extra(p.Extra)
}

func (w *writer) toolResult(p firn.ToolResult) {
	w.beginObject("tool_result")
	w.text("tool_use_id", p.CallID)
	if s, ok := plainText(p.Content); ok {
		w.text("content", s)
	} else {
		w.name("content")
		w.dst = Append(w.dst, p.Content, w.style)
	}
	if p.IsError {
		w.name("is_error")
		w.dst = append(w.dst, "true"...)
	}
}

// plainText returns the text of parts that can be written as a string.
func plainText(parts []firn.Part) (string, bool) {
	switch len(parts) {
	case 0:
		return "", true
	case 1:
		t, ok := parts[0].(firn.Text)
		return t.Text, ok && t.Extra == nil && t.Text != ""
	}
	return "", false
}

// opaque writes a part as it was read; a part without raw bytes is written as an object of
// its type.
func (w *writer) opaque(p firn.OpaquePart) []byte {
	dst, err := AppendValue(w.dst, p.Raw, w.style)
	if err == nil {
		return dst
	}
	w.beginObject(p.Type)
	return append(w.dst, '}')
}
