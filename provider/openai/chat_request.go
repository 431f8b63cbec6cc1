package openai

import (
	"strings"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// chatRequest encodes a request. The most stable content comes first and the messages last,
// so that a request that continues another one starts with the same bytes.
func (w *wire) chatRequest(req provider.Request) ([]byte, error) {
	c := chatWriter{serverTraits: w.traits}
	c.raw(`{`)
	c.member("model", w.info.Name)
	c.raw(`,"stream":true`)
	if c.streamUsage {
		c.raw(`,"stream_options":{"include_usage":true}`)
	}
	if n := maxOutput(req, w.info.Spec); n > 0 {
		c.number(c.maxTokens, n)
	}
	if level := c.level(req.Thinking); level != "" && w.info.Thinks {
		c.think(level)
	}
	if c.cacheKey && req.Session != "" {
		c.member("prompt_cache_key", cacheKey(req.Session))
	}
	if len(req.Stop) > 0 && len(req.Stop) <= maxStop && !w.info.Thinks { // models that think reject it
		c.name("stop")
		c.texts(req.Stop)
	}
	if req.Format != nil {
		c.chatFormat(*req.Format)
	}
	c.tools(req.Tools)
	c.name("messages")
	c.raw(`[`)
	c.messages(req.Window)
	c.raw(`]}`)
	return c.b, c.err
}

// chatWriter writes the messages of the Chat Completions API.
type chatWriter struct {
	writer
	serverTraits
	// pendingImages are images of tool results. Tool messages are text only, so the images
	// are sent in the next user message.
	pendingImages []firn.Part
	// written counts the messages that were not left out.
	written int
}

func (c *chatWriter) think(level string) {
	switch c.effort {
	case EffortFlat:
		c.member("reasoning_effort", level)
	case EffortObject:
		c.name("reasoning")
		c.raw(`{`)
		c.member("effort", level)
		c.raw(`}`)
	}
}

func (c *chatWriter) tools(tools []provider.Tool) {
	if len(tools) == 0 {
		return
	}
	c.name("tools")
	c.raw(`[`)
	for _, tool := range tools {
		c.next()
		c.raw(`{"type":"function","function":{`)
		c.function(tool)
		c.raw(`}}`)
	}
	c.raw(`]`)
}

func (c *chatWriter) messages(win window.Window) {
	if win.System != "" {
		role := "system"
		if c.developer {
			role = "developer"
		}
		c.beginMessage(role)
		c.text(win.System)
		c.raw(`}`)
	}
	c.written = 0
	for i := range win.Items {
		c.item(&win.Items[i].Message)
	}
	c.user(nil)
	if c.written == 0 {
		c.err = errNothing
	}
}

// beginMessage starts a message up to its content.
func (c *chatWriter) beginMessage(role string) {
	c.written++
	c.next()
	c.raw(`{`)
	c.member("role", role)
	c.name("content")
}

func (c *chatWriter) item(m *firn.Message) {
	switch m.Role {
	case firn.RoleUser:
		c.user(m.Parts)
	case firn.RoleAssistant:
		c.user(nil)
		c.assistant(m.Parts)
	case firn.RoleToolResult:
		for _, part := range m.Parts {
			if result, ok := part.(firn.ToolResult); ok {
				c.result(result)
			}
		}
	}
}

// user writes a user message, with the pending images first. It writes nothing if both are
// empty.
func (c *chatWriter) user(parts []firn.Part) {
	parts = append(c.pendingImages, parts...)
	c.pendingImages = nil
	text, images := split(parts)
	switch {
	case len(text)+len(images) == 0:
	case len(images) == 0:
		// Some servers accept only a string.
		c.beginMessage("user")
		c.text(strings.Join(text, "\n\n"))
		c.raw(`}`)
	default:
		c.beginMessage("user")
		c.raw(`[`)
		for _, part := range parts {
			c.part(part)
		}
		c.raw(`]}`)
	}
}

func (c *chatWriter) part(part firn.Part) {
	switch p := part.(type) {
	case firn.Text:
		c.next()
		c.raw(`{"type":"text","text":`)
		c.text(p.Text)
		c.raw(`}`)
	case firn.Image:
		c.next()
		c.raw(`{"type":"image_url","image_url":{"url":`)
		c.dataURL(p)
		c.raw(`}}`)
	}
}

// assistant writes the text and calls of an answer. It writes nothing if there are none.
func (c *chatWriter) assistant(parts []firn.Part) {
	text, _ := split(parts)
	var calls []firn.ToolCall
	for _, part := range parts {
		if call, ok := part.(firn.ToolCall); ok {
			calls = append(calls, call)
		}
	}
	if len(text)+len(calls) == 0 {
		return
	}
	c.beginMessage("assistant")
	switch {
	case len(text) > 0:
		c.text(strings.Join(text, "\n\n"))
	case c.noNull:
		c.raw(`""`)
	default:
		c.raw(`null`)
	}
	c.thoughts(parts)
	if len(calls) > 0 {
		c.name("tool_calls")
		c.raw(`[`)
		for _, call := range calls {
			c.call(call)
		}
		c.raw(`]`)
	}
	c.raw(`}`)
}

// thoughts writes thinking in the member that it was received in. Windows contain thinking
// only if the profile requires it, which none of the built-in profiles does.
func (c *chatWriter) thoughts(parts []firn.Part) {
	var field, thoughts string
	for _, part := range parts {
		if t, ok := part.(firn.Thinking); ok && isThoughtField(t.Signature) {
			field = t.Signature
			thoughts += t.Text
		}
	}
	if field != "" {
		c.member(field, thoughts)
	}
}

func (c *chatWriter) call(call firn.ToolCall) {
	c.next()
	c.raw(`{`)
	c.member("id", call.ID)
	c.raw(`,"type":"function","function":{`)
	c.member("name", call.Name)
	c.member("arguments", string(argumentsOf(call.Arguments)))
	c.raw(`}`)
	if call.Signature != "" && c.signer != "" {
		c.raw(`,"extra_content":{"` + c.signer + `":{`)
		c.member("thought_signature", call.Signature)
		c.raw(`}}`)
	}
	c.raw(`}`)
}

// imageFollows replaces the text of a tool result that consists only of images.
const imageFollows = "(see the image in the next message)"

func (c *chatWriter) result(result firn.ToolResult) {
	text, images := split(result.Content)
	for _, image := range images {
		c.pendingImages = append(c.pendingImages, image)
	}
	if len(text) == 0 && len(images) > 0 {
		text = []string{imageFollows}
	}
	c.beginMessage("tool")
	c.text(strings.Join(text, "\n"))
	c.member("tool_call_id", result.CallID)
	if c.toolNames && result.Name != "" {
		c.member("name", result.Name)
	}
	c.raw(`}`)
}
