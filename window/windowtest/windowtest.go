// Package windowtest rejects windows as providers do.
//
// [Check] models the known reasons for which each API responds with status 400, taken from
// documentation and bug reports. It shares no code with the rules of package window, so
// that an error in the rules does not hide itself.
package windowtest

import (
	"fmt"
	"regexp"

	"firn.dev"
	"firn.dev/window"
)

// api describes the requests that one provider rejects.
type api struct {
	// callID: "tool_use.id: String should match pattern", "string too long",
	// "tool call id has to be a-z, A-Z, 0-9 with a length of 9".
	callID *regexp.Regexp
	// toolName: "tools.name: String should match pattern", "Invalid function name".
	toolName *regexp.Regexp
	// thinking checks thinking that is sent back.
	thinking func(firn.Thinking) error
	// mark checks the mark of a text or a call.
	mark func(string) error
	// thinkingLast: "The final block in an assistant message cannot be
	// thinking"; "reasoning was provided without its required following item".
	thinkingLast bool
	// imageInResult: a tool message may hold images.
	imageInResult bool
	// images, imageBytes and allImageBytes bound the images of a request:
	// "At most 8 images", "image exceeds 5 MB maximum", "request too large".
	images                    int
	imageBytes, allImageBytes int
	// imageSide: "At least one of the image dimensions exceed max allowed size".
	imageSide int
	// documents: PDFs are accepted; textDocuments: plain text is too.
	documents, textDocuments bool
	// userAfterTool: false: "Unexpected role 'user' after role 'tool'".
	userAfterTool bool
	// assistantLast: false: "This model does not support assistant message
	// prefill"; "Expected last role User or Tool"; "Please ensure
	// that multiturn requests end with a user role or a function response".
	assistantLast bool
	// spaceLast: false: "final assistant content cannot end with trailing whitespace".
	spaceLast bool
}

const megabyte = 1 << 20

// apis maps profile names to providers.
var apis = map[string]api{
	"anthropic": {
		callID:   regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		toolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		thinking: signed, mark: anyMark,
		imageInResult: true, images: 20, imageBytes: 5 * megabyte, allImageBytes: 32 * megabyte, imageSide: 8000,
		documents: true, textDocuments: true,
		userAfterTool: true,
	},
	"openai-chat": {
		callID:   regexp.MustCompile(`^.{1,40}$`),
		toolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		thinking: noThinking, mark: noMark,
		images: 500, imageBytes: 50 * megabyte, allImageBytes: 50 * megabyte,
		userAfterTool: true, assistantLast: true, spaceLast: true,
	},
	"openai-responses": {
		callID:   regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		toolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		thinking: signed, mark: anyMark,
		documents:     true,
		imageInResult: true, images: 500, imageBytes: 50 * megabyte, allImageBytes: 50 * megabyte,
		userAfterTool: true, assistantLast: true, spaceLast: true,
	},
	"gemini": {
		callID:   regexp.MustCompile(`^[a-zA-Z0-9]{1,40}$`),
		toolName: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`),
		thinking: base64Thinking, mark: base64Mark, thinkingLast: true,
		imageInResult: true, images: 3000, imageBytes: 20 * megabyte, allImageBytes: 20 * megabyte,
		userAfterTool: true, spaceLast: true,
	},
	"mistral": {
		callID:   regexp.MustCompile(`^[a-zA-Z0-9]{9}$`),
		toolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		thinking: noThinking, mark: noMark,
		images: 8, imageBytes: 10 * megabyte, allImageBytes: 50 * megabyte,
		spaceLast: true,
	},
}

// Check returns the reason why the API of a profile would reject a window, or nil. A window
// without items is accepted: there is nothing to send.
func Check(profile window.Profile, w window.Window) error {
	a, ok := apis[profile.Name]
	if !ok {
		return fmt.Errorf("checking a window: %w profile %q", firn.ErrUnsupported, profile.Name)
	}
	c := checker{api: a, ask: w.Ask, ids: make(map[string]bool)}
	if err := plain("system prompt", w.System); err != nil {
		return err
	}
	for i := range w.Items {
		if err := c.item(w.Items, i); err != nil {
			return fmt.Errorf("%s refuses item %d (%s, entries %v): %w", profile.Name, i, w.Items[i].Message.Role, w.Items[i].From, err)
		}
	}
	return c.whole(w.Items)
}

// checker checks the items of a window in order.
type checker struct {
	api
	ask window.Ask
	// ids are the IDs of the calls seen so far, open those without a result yet.
	ids  map[string]bool
	open []firn.ToolCall

	imageCount, imageTotal int
}

func (c *checker) item(items []window.Item, i int) error {
	m := &items[i].Message
	if len(m.Parts) == 0 {
		return fmt.Errorf("content must not be empty")
	}
	if err := c.turn(items, i); err != nil {
		return err
	}
	for _, part := range m.Parts {
		if err := c.part(m, part); err != nil {
			return err
		}
	}
	if m.Role == firn.RoleAssistant {
		return c.ending(m)
	}
	return nil
}

// turn checks the order of roles.
func (c *checker) turn(items []window.Item, i int) error {
	role, before := items[i].Message.Role, firn.Role("")
	if i > 0 {
		before = items[i-1].Message.Role
	}
	switch role {
	case firn.RoleUser, firn.RoleAssistant:
		if len(c.open) > 0 {
			return fmt.Errorf("tool_use ids were found without tool_result blocks immediately after: %s", c.open[0].ID)
		}
		if role == before {
			return fmt.Errorf("roles must alternate, found two of %s in a row", role)
		}
		if before == "" && role == firn.RoleAssistant {
			return fmt.Errorf("the first message must be of the user")
		}
		if before == firn.RoleToolResult && role == firn.RoleUser && !c.userAfterTool {
			return fmt.Errorf("unexpected role user after role tool")
		}
	case firn.RoleToolResult:
		if len(items[i].Message.Parts) != 1 {
			return fmt.Errorf("a tool result is one part, found %d", len(items[i].Message.Parts))
		}
	default:
		return fmt.Errorf("unknown role %q", role)
	}
	return nil
}

// ending checks the end of an assistant message.
func (c *checker) ending(m *firn.Message) error {
	if _, thinking := m.Parts[len(m.Parts)-1].(firn.Thinking); thinking && !c.thinkingLast {
		return fmt.Errorf("the final block in an assistant message cannot be thinking")
	}
	return nil
}

// whole checks conditions on the window as a whole.
func (c *checker) whole(items []window.Item) error {
	if len(c.open) > 0 {
		return fmt.Errorf("tool call %s was never answered", c.open[0].ID)
	}
	if c.imageCount > c.images {
		return fmt.Errorf("%d images, at most %d are allowed", c.imageCount, c.images)
	}
	if c.imageTotal > c.allImageBytes {
		return fmt.Errorf("request too large: %d bytes of images", c.imageTotal)
	}
	if len(items) == 0 {
		return nil
	}
	last := &items[len(items)-1].Message
	if last.Role != firn.RoleAssistant {
		return nil
	}
	if !c.assistantLast {
		return fmt.Errorf("the last message must be of the user or a tool")
	}
	if text, ok := last.Parts[len(last.Parts)-1].(firn.Text); ok && !c.spaceLast && endsInSpace(text.Text) {
		return fmt.Errorf("final assistant content cannot end with trailing whitespace")
	}
	return nil
}
