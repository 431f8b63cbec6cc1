package interop

import (
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/store/filestore"
)

// TestHandoffToAnotherDirectory hands a session to a folder that is not the tool's default: the
// resume command names it. firn verify finds the session there by its ID, a prefix of it
// and its title.
func TestHandoffToAnotherDirectory(t *testing.T) {
	t.Parallel()
	for tool, variable := range map[string]string{"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME", "pi": "PI_CODING_AGENT_DIR", "openclaw": "OPENCLAW_STATE_DIR"} {
		s := newSession(t, filestore.Options{})
		s.talk(t, "one")
		runFirn(t, s.home, "rename", string(s.id), "Snow and ice")
		folder := filepath.Join(t.TempDir(), "of a tool")
		output := runFirn(t, s.home, "handoff", string(s.id), "--to", tool, "--folder", folder, "--cwd", t.TempDir())
		if !strings.Contains(output, "&& "+variable+"='"+folder+"' "+tool) {
			t.Errorf("%s: got %q", tool, output)
		}
		if tool == "openclaw" {
			writeJSON(t, filepath.Join(folder, "openclaw.json"), map[string]any{})
		}
		var list struct {
			Items []struct{ ID, Title string }
		}
		askFirn(t, &list, folder, "ls")
		if len(list.Items) != 1 {
			t.Fatalf("%s: firn lists %+v", tool, list)
		}
		names := []string{list.Items[0].ID, list.Items[0].ID[:12], "-"}
		if list.Items[0].Title != "" {
			names = append(names, list.Items[0].Title)
		}
		for _, name := range names {
			if out := runFirn(t, folder, "verify", name); !strings.Contains(out, "no fault") {
				t.Errorf("%s: firn verify %s printed %q", tool, name, out)
			}
		}
	}
}
