package windowtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // for the size of GIF images
	_ "image/jpeg" // and JPEG
	_ "image/png"  // and PNG
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/window"
)

// part checks one part of a message.
func (c *checker) part(m *firn.Message, part firn.Part) error {
	switch b := part.(type) {
	case firn.Text:
		if m.Role == firn.RoleToolResult {
			return errors.New("text beside a tool result")
		}
		return c.text(m, b)
	case firn.Image:
		if m.Role != firn.RoleUser {
			return fmt.Errorf("an image in a message of role %s", m.Role)
		}
		return c.image(b)
	case firn.OpaquePart:
		if m.Role != firn.RoleUser {
			return fmt.Errorf("a document in a message of role %s", m.Role)
		}
		return c.document(b)
	case firn.Thinking:
		return c.thought(m, b)
	case firn.ToolCall:
		return c.call(m, b)
	case firn.ToolResult:
		return c.result(m, b)
	}
	return fmt.Errorf("content of unknown type %T", part)
}

// text: "text content blocks must be non-empty", "must contain non-whitespace text".
func (c *checker) text(m *firn.Message, b firn.Text) error {
	if strings.TrimSpace(b.Text) == "" {
		return errors.New("text content blocks must contain non-whitespace text")
	}
	if err := c.marked(m, b.Signature); err != nil {
		return err
	}
	return plain("text", b.Text)
}

// marked checks the mark of a text or a call.
func (c *checker) marked(m *firn.Message, mark string) error {
	if mark == "" {
		return nil
	}
	if !c.own(m) {
		return errors.New("a mark that another model made")
	}
	return c.mark(mark)
}

// own reports whether the message was written by the model that the request is for.
func (c *checker) own(m *firn.Message) bool {
	for _, pair := range [][2]string{{c.ask.API, m.API}, {c.ask.Provider, m.Provider}, {c.ask.Model, m.Model}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return true
}

// thought: "Invalid signature in thinking block", "encrypted content could not
// be verified".
func (c *checker) thought(m *firn.Message, b firn.Thinking) error {
	if m.Role != firn.RoleAssistant {
		return fmt.Errorf("thinking in a message of role %s", m.Role)
	}
	if !c.own(m) {
		return errors.New("thinking of another model")
	}
	if err := plain("thinking", b.Text); err != nil {
		return err
	}
	return c.thinking(b)
}

// call: "tool_use ids must be unique", "input should be a valid dictionary".
func (c *checker) call(m *firn.Message, b firn.ToolCall) error {
	if m.Role != firn.RoleAssistant {
		return fmt.Errorf("a tool call in a message of role %s", m.Role)
	}
	if c.ids[b.ID] {
		return fmt.Errorf("tool_use ids must be unique: %s", b.ID)
	}
	c.ids[b.ID] = true
	c.open = append(c.open, b)
	if !c.callID.MatchString(b.ID) {
		return fmt.Errorf("tool call id %q should match %s", b.ID, c.callID)
	}
	if !c.toolName.MatchString(b.Name) {
		return fmt.Errorf("tool name %q should match %s", b.Name, c.toolName)
	}
	if err := c.marked(m, b.Signature); err != nil {
		return err
	}
	return object(b.Arguments)
}

// result: "unexpected tool_use_id found in tool_result blocks", "messages with
// role tool must be a response to a preceding message with tool_calls", "the
// number of function response parts is equal to the number of function call parts".
func (c *checker) result(m *firn.Message, b firn.ToolResult) error {
	if m.Role != firn.RoleToolResult {
		return fmt.Errorf("a tool result in a message of role %s", m.Role)
	}
	i := slices.IndexFunc(c.open, func(call firn.ToolCall) bool { return call.ID == b.CallID })
	if i < 0 {
		return fmt.Errorf("unexpected tool_use_id %s", b.CallID)
	}
	if c.open[i].Name != b.Name {
		return fmt.Errorf("result of %s for a call of %s", b.Name, c.open[i].Name)
	}
	c.open = slices.Delete(c.open, i, i+1)
	if len(b.Content) == 0 {
		return errors.New("tool result without content")
	}
	for _, part := range b.Content {
		switch inner := part.(type) {
		case firn.Text:
			if strings.TrimSpace(inner.Text) == "" {
				return errors.New("text content blocks must contain non-whitespace text")
			}
			if err := plain("tool result", inner.Text); err != nil {
				return err
			}
		case firn.Image:
			if !c.imageInResult {
				return errors.New("a tool message must be text")
			}
			if err := c.image(inner); err != nil {
				return err
			}
		case firn.OpaquePart:
			if err := c.document(inner); err != nil {
				return err
			}
		default:
			return fmt.Errorf("tool result content of unknown type %T", part)
		}
	}
	return nil
}

// document: "The PDF specified was not valid", "Input should be 'application/pdf'".
func (c *checker) document(b firn.OpaquePart) error {
	doc, err := window.DocumentOf(b)
	switch {
	case err != nil:
		return fmt.Errorf("content of unknown type %q: %w", b.Type, err)
	case !c.documents:
		return errors.New("documents are not supported")
	case doc.Data == "" && !c.textDocuments:
		return errors.New("a document that is no PDF")
	}
	return nil
}

// image: "Could not process image", "media_type: Input should be image/jpeg,
// image/png, image/gif or image/webp", "does not match the provided media type".
func (c *checker) image(b firn.Image) error {
	c.imageCount++
	c.imageTotal += len(b.Data)
	if len(b.Data) > c.imageBytes {
		return fmt.Errorf("image exceeds the maximum: %d bytes", len(b.Data))
	}
	raw, err := base64.StdEncoding.DecodeString(b.Data)
	if err != nil || len(raw) == 0 {
		return fmt.Errorf("invalid base64 data (%d characters)", len(b.Data))
	}
	kind, ok := strings.CutPrefix(b.MimeType, "image/")
	if !ok || !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, kind) {
		return fmt.Errorf("media type %q", b.MimeType)
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return nil // the format cannot be decoded here
	}
	if format != kind {
		return fmt.Errorf("the image is %s, which does not match the provided media type %s", format, b.MimeType)
	}
	if c.imageSide > 0 && max(config.Width, config.Height) > c.imageSide {
		return fmt.Errorf("image dimensions %dx%d exceed the maximum", config.Width, config.Height)
	}
	return nil
}

// plain: "invalid unicode code point", "null characters are not allowed",
// "no low surrogate in string".
func plain(what, s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is not valid UTF-8", what)
	}
	if strings.Contains(s, "\x00") {
		return fmt.Errorf("%s holds NUL", what)
	}
	return nil
}

// object checks the arguments of a call.
func object(raw json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return fmt.Errorf("arguments should be a JSON object, found %.80q", raw)
	}
	if err := plain("arguments", string(raw)); err != nil {
		return err
	}
	for rest := raw; ; { // escapes of code points that are not text
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			return nil
		}
		rest = rest[i:]
		if rest[1] != 'u' {
			rest = rest[2:]
			continue
		}
		unit, second := hexRune(rest), rune(0)
		rest = rest[6:]
		if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
			second = hexRune(rest)
		}
		switch {
		case unit == 0:
			return errors.New("arguments hold an escaped NUL")
		case utf16.IsSurrogate(unit) && utf16.DecodeRune(unit, second) == utf8.RuneError:
			return errors.New("arguments hold half a surrogate pair")
		case utf16.IsSurrogate(unit):
			rest = rest[6:]
		}
	}
}

func hexRune(escape []byte) rune {
	var r rune
	_, err := fmt.Sscanf(string(escape[2:6]), "%04x", &r)
	if err != nil {
		return 0
	}
	return r
}

// signed: "thinking.signature: Field required"; a reasoning item is identified by its ID.
func signed(b firn.Thinking) error {
	if b.Signature == "" {
		return errors.New("thinking without a signature")
	}
	return plain("signature", b.Signature)
}

func noThinking(firn.Thinking) error { return errors.New("thinking is not taken back") }

func base64Thinking(b firn.Thinking) error {
	if b.Signature == "" {
		return errors.New("thinking without a signature")
	}
	return base64Mark(b.Signature)
}

func anyMark(s string) error { return plain("mark", s) }

func noMark(string) error { return errors.New("marks are not taken back") }

// base64Mark: "Invalid value at 'thought_signature', Base64 decoding failed".
func base64Mark(s string) error {
	if _, err := base64.StdEncoding.DecodeString(s); err != nil {
		return fmt.Errorf("base64 decoding of a thought signature failed: %w", err)
	}
	return nil
}

func endsInSpace(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsSpace(r)
}
