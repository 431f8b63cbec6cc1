package openai

import (
	"strings"

	"firn"
	"firn/provider"
	"firn/window"
)

// chatRequest spells a request. What changes least comes first and the
// messages come last, so that a request that goes on from another one begins
// with the same bytes.
func (w *wire) chatRequest(req provider.Request) ([]byte, error) {
	c := chatWriter{manners: w.manners}
	c.raw(`{`)
	c.member("model", w.info.Name)
	c.raw(`,"stream":true`)
	if c.streamUsage {
		c.raw(`,"stream_options":{"include_usage":true}`)
	}
	if n := bound(req, w.info.Spec); n > 0 {
		c.number(c.maxTokens, n)
	}
	if level := c.level(req.Thinking); level != "" && w.info.Thinks {
		c.think(level)
	}
	if c.cacheKey && req.Session != "" {
		c.member("prompt_cache_key", cacheKey(req.Session))
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
	manners
	// beside are images of tool results: a tool's message is text only, so they
	// go into the next message of the user.
	beside []firn.Part
	// said counts the messages that were not left out.
	said int
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
		c.begin(role)
		c.text(win.System)
		c.raw(`}`)
	}
	c.said = 0
	for i := range win.Items {
		c.item(&win.Items[i].Message)
	}
	c.user(nil)
	if c.said == 0 {
		c.err = errNothing
	}
}

// begin begins a message, as far as its content.
func (c *chatWriter) begin(role string) {
	c.said++
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

// user writes what the user says, after the images that wait for it; nothing
// if there is nothing.
func (c *chatWriter) user(parts []firn.Part) {
	parts = append(c.beside, parts...)
	c.beside = nil
	text, images := split(parts)
	switch {
	case len(text)+len(images) == 0:
	case len(images) == 0:
		// Some servers take nothing but a string.
		c.begin("user")
		c.text(strings.Join(text, "\n\n"))
		c.raw(`}`)
	default:
		c.begin("user")
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

// assistant writes what the model said and called; nothing if it did neither.
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
	c.begin("assistant")
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

// thoughts gives thinking back in the member that it came in. Only a profile
// that says that the server wants it leaves it in a window; those of this
// house do not.
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

// seenBeside stands for what a tool showed and did not say.
const seenBeside = "(see the image in the next message)"

func (c *chatWriter) result(result firn.ToolResult) {
	text, images := split(result.Content)
	for _, image := range images {
		c.beside = append(c.beside, image)
	}
	if len(text) == 0 && len(images) > 0 {
		text = []string{seenBeside}
	}
	c.begin("tool")
	c.text(strings.Join(text, "\n"))
	c.member("tool_call_id", result.CallID)
	if c.toolNames && result.Name != "" {
		c.member("name", result.Name)
	}
	c.raw(`}`)
}
