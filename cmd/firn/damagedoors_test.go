package main

import (
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestDamageOverOtherProtocols reads damaged sessions of each kind over MCP and ACP: damage is
// reported there too, and nothing is reported for intact ones.
func TestDamageOverOtherProtocols(t *testing.T) {
	home := t.TempDir()
	kinds := damageKinds()
	ids, lasts := make([]string, len(kinds)), make([]string, len(kinds))
	for i, k := range kinds {
		ids[i] = damageID[:len(damageID)-1] + string(rune('a'+i/10)) + string(rune('0'+i%10))
		s := newTalk(ids[i], max(k.entries, 9))
		if s.parts = k.parts; k.shape != nil {
			k.shape(s)
		}
		lasts[i] = lastText(s)
		s.write(t, home, max(k.part, 1), k.change)
	}
	session := mcpClient(t, &mcp.CommandTransport{Command: program(home, "mcp")})
	for i, k := range kinds {
		text, _ := well(t, session, "read_session", map[string]any{"session": ids[i], "limit": 200})
		if named := strings.Contains(text, "⚠"); named != (k.mark != "") || named && (!strings.Contains(text, k.mark) || !strings.Contains(text, "firn verify "+ids[i])) {
			t.Errorf("%s: MCP reads\n%s", k.name, text)
		}
		live := k.mark != "" && !k.quiet && k.name != "id used twice"
		text, _ = well(t, session, "get_window", map[string]any{"session": ids[i]})
		if strings.Contains(text, "⚠") != live || live && !strings.Contains(text, k.mark) {
			t.Errorf("%s: the window over MCP is\n%s", k.name, text)
		}
	}
	e := startACP(t, home, nil)
	for i, k := range kinds {
		e.take()
		if _, err := e.conn.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: acp.SessionId(ids[i]), Cwd: home, McpServers: []acp.McpServer{}}); err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		e.await(lasts[i])
		content := e.take()
		if strings.Contains(content, "⚠") != (k.mark != "") {
			t.Errorf("%s: ACP sends\n%s", k.name, content)
		}
	}
}

// lastText returns the text of the last line of a session.
func lastText(s *talk) string {
	_, text, _ := strings.Cut(s.lines[len(s.lines)-1], `"text":"`)
	text, _, _ = strings.Cut(text, `"`)
	return text
}
