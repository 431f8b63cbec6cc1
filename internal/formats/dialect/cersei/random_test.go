package cersei

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev"
)

// body returns a random body as firn's own agent writes it.
func body(r *rapid.T) firn.Body {
	words := rapid.StringMatching(`[a-z<é😀"\\ \n\t{}]{1,20}`)
	say := func() firn.Part { return text(words.Draw(r, "text")) }
	switch rapid.IntRange(0, 6).Draw(r, "kind") {
	case 0, 1:
		parts := []firn.Part{say()}
		if rapid.Bool().Draw(r, "picture") {
			parts = append(parts, firn.Image{MimeType: "image/png", Data: "QUJD"})
		}
		return says(firn.RoleUser, parts...)
	case 2, 3:
		m := &firn.Message{Role: firn.RoleAssistant, Model: "claude-x", Provider: "anthropic", StopReason: firn.StopToolUse, Usage: &firn.Usage{Input: 3, Output: 4, CacheRead: 5, CacheWrite: 6, Total: 18, Cost: firn.Cost{Total: 0.25}}}
		if rapid.Bool().Draw(r, "thinks") {
			m.Parts = append(m.Parts, firn.Thinking{Text: words.Draw(r, "thought"), Signature: "s"})
		}
		for i := range rapid.IntRange(1, 3).Draw(r, "calls") {
			m.Parts = append(m.Parts, say(), firn.ToolCall{ID: fmt.Sprintf("t%d", i), Name: "tool", Arguments: []byte(`{"a":[1,2.0,"x"]}`)})
		}
		return m
	case 4:
		return says(firn.RoleToolResult, firn.ToolResult{CallID: "t0", Name: "tool", Content: []firn.Part{say(), firn.Image{MimeType: "image/png", Data: "QUJD"}}, IsError: rapid.Bool().Draw(r, "failed")})
	case 5:
		return &firn.Title{Name: words.Draw(r, "title"), Source: firn.SourceAuto}
	}
	return says(firn.RoleSystem, say())
}

// TestPrintAndScan writes conversations and reads them again: everything that Cersei can
// represent is preserved.
func TestPrintAndScan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, Options{ForClaude: rapid.Bool().Draw(r, "for Claude")}, false)
		w.add(t, "", &firn.Header{Session: "s", CWD: "/p"})
		named := false
		for i := range rapid.IntRange(1, 12).Draw(r, "entries") {
			b := body(r)
			if m, ok := b.(*firn.Message); ok && m.Role == firn.RoleAssistant {
				named = true
			} else if ok && m.Role == firn.RoleToolResult && !named {
				continue // the name of a result is taken from the call before it
			}
			w.add(t, fmt.Sprintf("e%d", i), b)
		}
		var want, got []string
		for _, e := range w.log[1:] {
			want = append(want, describeEntry(e))
		}
		for _, e := range scan(t, w.file)[1:] {
			got = append(got, describeEntry(e))
		}
		if !slices.Equal(got, want) {
			r.Fatalf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// describeEntry formats everything of an entry that must be preserved.
func describeEntry(e firn.Entry) string {
	m, ok := e.Body.(*firn.Message)
	switch {
	case !ok:
		return word(e)
	case m.Role == firn.RoleAssistant:
		u := *m.Usage
		u.Extra = nil
		return fmt.Sprintf("%s %s %s %s %+v %+v", e.Time, m.Role, m.Model, m.StopReason, u, m.Parts)
	}
	return fmt.Sprintf("%s %s %+v", e.Time, m.Role, m.Parts)
}
