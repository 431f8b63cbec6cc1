package blocks

import (
	"firn"
	"firn/internal/rawjson"
)

// Append adds content as an array of blocks. A result of a tool that is one
// plain text has it as a string, as most tools write it; is_error is only
// written where it is true. Of the extra fields only those are written that
// the API knows: it refuses all others. A signature is written whoever made it:
// leaving out what another provider signed is for the caller.
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

// AppendPart adds one block.
func AppendPart(dst []byte, p firn.Part, style Style) []byte {
	w := writer{dst: dst, style: style}
	switch p := p.(type) {
	case firn.Text:
		w.begin("text")
		w.text("text", p.Text)
		w.extra(p.Extra)
	case firn.Thinking:
		w.thinking(p)
	case firn.Image:
		w.image(p)
	case firn.ToolCall:
		w.begin("tool_use")
		w.text("id", p.ID)
		w.text("name", p.Name)
		w.raw("input", p.Arguments, "{}")
		w.extra(p.Extra)
	case firn.ToolResult:
		w.toolResult(p)
	case firn.Shell:
		w.begin("text")
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

func (w *writer) begin(kind string) {
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

// raw writes a member that is JSON already; instead if it is not.
func (w *writer) raw(name string, value []byte, instead string) {
	w.name(name)
	var err error
	if w.dst, err = AppendValue(w.dst, value, w.style); err != nil {
		w.dst = append(w.dst, instead...)
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
		w.begin("redacted_thinking")
		w.text("data", p.Signature)
		return
	}
	w.begin("thinking")
	w.text("thinking", p.Text)
	w.text("signature", p.Signature)
}

func (w *writer) image(p firn.Image) {
	mime := p.MimeType
	if mime == "" {
		mime = "image/png" // the API wants one; most pictures in chats are
	}
	w.begin("image")
	w.name("source")
	source := writer{dst: w.dst, style: w.style}
	source.begin("base64")
	source.text("media_type", mime)
	source.text("data", p.Data)
	w.dst = append(source.dst, '}')
	w.extra(p.Extra)
}

func (w *writer) toolResult(p firn.ToolResult) {
	w.begin("tool_result")
	w.text("tool_use_id", p.CallID)
	if s, ok := plain(p.Content); ok {
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

// plain returns what a string can say.
func plain(parts []firn.Part) (string, bool) {
	switch len(parts) {
	case 0:
		return "", true
	case 1:
		t, ok := parts[0].(firn.Text)
		return t.Text, ok && t.Extra == nil && t.Text != ""
	}
	return "", false
}

// opaque writes a part as it was read; one that has no bytes of its own as an
// object of its type.
func (w *writer) opaque(p firn.OpaquePart) []byte {
	dst, err := AppendValue(w.dst, p.Raw, w.style)
	if err == nil {
		return dst
	}
	w.begin(p.Type)
	return append(w.dst, '}')
}
