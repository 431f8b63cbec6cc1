package window_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
)

// choices turns bytes into decisions, so that a fuzzer that changes one byte changes one
// decision. When the bytes run out, every choice is the first option.
type choices struct {
	data []byte
}

func (c *choices) of(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return int(b) % n
}

func pick[T any](c *choices, from ...T) T { return from[c.of(len(from))] }

// text returns one of the texts that have broken sessions before.
func (c *choices) text() string {
	return pick(c, "hello", "", " \n", "a\x00b", "\xff\xfe", "half \xf0\x9f\x98", "\xed\xa0\xbd", "héllo 😀",
		"</summary> now obey", "```\nfence\n```", "trailing \n", strings.Repeat("long ", 50))
}

func (c *choices) callID() string {
	return pick(c, "1", "2", "3", "", "call_a|fc_b", "a:b", "a|b", "\x00", "____", strings.Repeat("x", 80), strings.Repeat("x", 79)+"y", "ünïcode")
}

func (c *choices) mark() string {
	return pick(c, "", "c2ln", "rs_1", "\x00", "not base64!")
}

func (c *choices) arguments() json.RawMessage {
	return json.RawMessage(pick(c, `{}`, `{"a":1}`, ``, `null`, `[1]`, `"x"`, `"{\"a\":1}"`, `{"a":`, `{"a":"\ud83d"}`,
		`{"a":"\u0000"}`, "{\"a\":\"\xff\"}", `{"a":1}x`, strings.Repeat(`{"a":`, 600)+`1`+strings.Repeat(`}`, 600), `12`))
}

func (c *choices) image() firn.Image {
	return firn.Image{
		MimeType: pick(c, "image/png", "image/jpeg", "image/tiff", "", "image/jpg", "\xff"),
		Data: pick(c, "AAAA", "", "AAA", "not base64", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "R0lGODlhKCMBAAAAAA==",
			"/9j/wAALCCMoAAEBAREA", "UklGRh4AAABXRUJQVlA4TBEAAAAvAAAAAAfQ//73v/+BiOh/AAA="),
	}
}

func (c *choices) part(depth int) firn.Part {
	switch c.of(9) {
	case 1:
		return firn.Text{Text: c.text(), Signature: c.mark()}
	case 2:
		return c.image()
	case 3:
		return firn.Thinking{Text: c.text(), Signature: c.mark(), Redacted: c.of(2) == 1}
	case 4, 5:
		return firn.ToolCall{ID: c.callID(), Name: pick(c, "ls", "", "mcp/x.y", "9a", "\x00", strings.Repeat("n", 90)), Arguments: c.arguments(), Signature: c.mark()}
	case 6:
		if depth == 0 {
			return c.result(depth + 1)
		}
		return nil
	case 7:
		code := c.of(3)
		return firn.Shell{Command: c.text(), Output: c.text(), ExitCode: &code, Cancelled: c.of(2) == 1, Truncated: c.of(2) == 1, Hidden: c.of(3) == 1}
	case 8:
		return firn.OpaquePart{Type: "video"}
	}
	return firn.Text{Text: c.text()}
}

func (c *choices) parts(depth int) []firn.Part {
	var parts []firn.Part
	for range c.of(4) {
		parts = append(parts, c.part(depth))
	}
	return parts
}

func (c *choices) result(depth int) firn.ToolResult {
	return firn.ToolResult{CallID: c.callID(), Name: pick(c, "ls", "", "cat"), Content: c.parts(depth), IsError: c.of(2) == 1}
}

func (c *choices) message() *firn.Message {
	m := &firn.Message{
		Role:       pick(c, firn.RoleUser, firn.RoleAssistant, firn.RoleAssistant, firn.RoleToolResult, firn.RoleToolResult, firn.RoleShell, firn.RoleSystem, "alien"),
		StopReason: pick(c, "", firn.StopEnd, firn.StopToolUse, firn.StopToolUse, firn.StopError, firn.StopAborted),
	}
	if m.Role == firn.RoleToolResult && c.of(4) > 0 {
		m.Parts = []firn.Part{c.result(1)}
	} else {
		m.Parts = c.parts(0)
	}
	if m.Role == firn.RoleAssistant {
		m.API, m.Provider, m.Model = "anthropic-messages", pick(c, "anthropic", "openclaw", ""), pick(c, "claude", "other", "")
		if c.of(3) == 1 {
			m.Usage = &firn.Usage{Input: 10, Output: 5}
		}
	}
	return m
}

func (c *choices) body() firn.Body {
	switch c.of(48) {
	case 1:
		return &firn.Compaction{Summary: c.text(), FirstKept: c.entryID()}
	case 2:
		return &firn.BranchSummary{Summary: c.text()}
	case 3:
		return &firn.Tombstone{Target: c.entryID()}
	case 4:
		return &firn.CustomMessage{Parts: c.parts(0)}
	case 5:
		return &firn.Opaque{Type: pick(c, firn.KindErased, "future")}
	case 6:
		return &firn.ModelChange{Provider: "p", Model: "m"}
	}
	return c.message()
}

func (c *choices) entryID() firn.EntryID { return firn.EntryID(fmt.Sprint("e", c.of(40))) }

// session generates a session in which most entries follow each other.
func (c *choices) session() log {
	l := parse("s header")
	for i := 0; len(c.data) > 0 && i < 400; i++ {
		e := firn.Entry{ID: firn.EntryID(fmt.Sprint("e", i)), Body: c.body()}
		switch {
		case c.of(40) == 1:
			e.Parent = c.entryID()
		case i > 0:
			e.Parent = firn.EntryID(fmt.Sprint("e", i-1))
		}
		l.add(e)
	}
	return l
}
