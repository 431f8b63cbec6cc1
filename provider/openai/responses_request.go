package openai

import (
	"cmp"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/provider"
	"firn.dev/window"
)

// responsesRequest encodes a request. As in [wire.chatRequest], the most stable content
// comes first.
//
// The system prompt is sent as instructions, not as an input item: it belongs to no turn,
// and there is no need to choose between the roles system and developer.
//
// Nothing is stored at the provider. The log is authoritative, so each request contains the
// whole conversation, including the model's encrypted reasoning.
func (w *wire) responsesRequest(req provider.Request) ([]byte, error) {
	r := responsesWriter{}
	r.raw(`{`)
	r.member("model", w.info.Name)
	r.raw(`,"stream":true,"store":false`)
	if w.info.Thinks {
		r.raw(`,"include":["reasoning.encrypted_content"]`)
	}
	if n := maxOutput(req, w.info.Spec); n > 0 {
		r.number("max_output_tokens", max(n, leastOutput))
	}
	if level := w.traits.level(req.Thinking); level != "" && w.info.Thinks {
		r.name("reasoning")
		r.raw(`{`)
		r.member("effort", level)
		r.raw(`,"summary":"auto"}`)
	}
	if req.Format != nil {
		r.responsesFormat(*req.Format)
	}
	if w.traits.cacheKey && req.Session != "" {
		r.member("prompt_cache_key", cacheKey(req.Session))
	}
	if req.Window.System != "" {
		r.member("instructions", req.Window.System)
	}
	r.tools(req.Tools)
	r.name("input")
	r.raw(`[`)
	r.items(req.Window)
	r.raw(`]}`)
	return r.b, r.err
}

// leastOutput is the smallest output limit that the API accepts.
const leastOutput = 16

// responsesWriter writes the items of the Responses API.
type responsesWriter struct {
	writer
	written int
}

func (r *responsesWriter) tools(tools []provider.Tool) {
	if len(tools) == 0 {
		return
	}
	r.name("tools")
	r.raw(`[`)
	for _, tool := range tools {
		r.next()
		r.raw(`{"type":"function"`)
		r.function(tool)
		r.raw(`,"strict":false}`)
	}
	r.raw(`]`)
}

func (r *responsesWriter) items(win window.Window) {
	for i := range win.Items {
		switch m := &win.Items[i].Message; m.Role {
		case firn.RoleUser:
			r.user(m.Parts)
		case firn.RoleAssistant:
			r.assistant(m.Parts)
		case firn.RoleToolResult:
			for _, part := range m.Parts {
				if result, ok := part.(firn.ToolResult); ok {
					r.result(result)
				}
			}
		}
	}
	if r.written == 0 {
		r.err = errNothing
	}
}

// beginItem starts an item.
func (r *responsesWriter) beginItem(kind string) {
	r.written++
	r.next()
	r.raw(`{`)
	r.member("type", kind)
}

func (r *responsesWriter) user(parts []firn.Part) {
	if text, images := split(parts); len(text)+len(images)+len(pdfs(parts)) == 0 {
		return
	}
	r.beginItem("message")
	r.raw(`,"role":"user","content":`)
	r.content(parts)
	r.raw(`}`)
}

// content writes text and images as input.
func (r *responsesWriter) content(parts []firn.Part) {
	r.raw(`[`)
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Text:
			r.next()
			r.raw(`{"type":"input_text","text":`)
			r.text(p.Text)
			r.raw(`}`)
		case firn.Image:
			r.next()
			r.raw(`{"type":"input_image","detail":"auto","image_url":`)
			r.dataURL(p)
			r.raw(`}`)
		case firn.OpaquePart:
			r.file(p)
		}
	}
	r.raw(`]`)
}

// file writes a PDF as input. The API wants a name for it.
func (r *responsesWriter) file(part firn.OpaquePart) {
	doc, err := window.DocumentOf(part)
	if err != nil || doc.Data == "" {
		return // the window has none of these
	}
	r.next()
	r.raw(`{"type":"input_file","filename":`)
	r.text(cmp.Or(doc.Title, "document.pdf"))
	r.raw(`,"file_data":`)
	r.text("data:application/pdf;base64," + doc.Data)
	r.raw(`}`)
}

// pdfs returns the parts that [responsesWriter.file] writes.
func pdfs(parts []firn.Part) (found []firn.OpaquePart) {
	for _, part := range parts {
		if p, ok := part.(firn.OpaquePart); ok {
			if doc, err := window.DocumentOf(p); err == nil && doc.Data != "" {
				found = append(found, p)
			}
		}
	}
	return found
}

// assistant writes the items of an answer. An item with an ID must follow the reasoning
// that led to it, so items after reasoning that cannot be sent back have no ID.
func (r *responsesWriter) assistant(parts []firn.Part) {
	whole := true
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Thinking:
			whole = r.reasoning(p)
		case firn.Text:
			r.written++
			r.next()
			r.message(p, whole)
		case firn.ToolCall:
			r.beginItem("function_call")
			if whole && isItemID(p.Signature, "fc") {
				r.member("id", p.Signature)
			}
			r.member("call_id", p.ID)
			r.member("name", p.Name)
			r.member("arguments", string(argumentsOf(p.Arguments)))
			r.raw(`}`)
		}
	}
}

// reasoning writes a reasoning item unchanged, and reports whether there is one.
func (r *responsesWriter) reasoning(t firn.Thinking) bool {
	raw := []byte(t.Signature)
	if rawjson.Valid(raw) != nil || !readItem(raw).returnable() {
		return false
	}
	r.next()
	return r.value(raw) == nil
}

// message writes a text of the model: as the original item if its ID is known, otherwise as
// a plain message.
func (r *responsesWriter) message(t firn.Text, whole bool) {
	mark := readTextMark(t.Signature)
	if !whole || !isItemID(mark.ID, "msg") {
		r.raw(`{"type":"message","role":"assistant","content":`)
		r.text(t.Text)
		r.raw(`}`)
		return
	}
	r.raw(`{"type":"message","role":"assistant","status":"completed"`)
	r.member("id", mark.ID)
	if mark.Phase != "" {
		r.member("phase", mark.Phase)
	}
	r.raw(`,"content":[{"type":"output_text","annotations":[],"text":`)
	r.text(t.Text)
	r.raw(`}]}`)
}

func (r *responsesWriter) result(result firn.ToolResult) {
	r.beginItem("function_call_output")
	r.member("call_id", result.CallID)
	r.name("output")
	if text, images := split(result.Content); len(images)+len(pdfs(result.Content)) == 0 {
		r.text(strings.Join(text, "\n"))
	} else {
		r.content(result.Content)
	}
	r.raw(`}`)
}
