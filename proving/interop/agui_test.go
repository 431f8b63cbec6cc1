package interop

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAGUIClient talks to an agent with the client of the Agent-User Interaction Protocol,
// and checks that the session has each message once.
func TestAGUIClient(t *testing.T) {
	for _, name := range []string{"client", "core"} {
		requireVersion(t, filepath.Join("..", "adapters", "node_modules", "@ag-ui", name), "1.0.0")
	}
	a := newAdapters(t)
	if out := a.node(t, "agui.mjs"); strings.TrimSpace(out) != "passed" {
		t.Errorf("it prints %s", out)
	}
	shown := runFirn(t, a.home, "cat", "@agent:main:ag-ui:_54hread_201_2f_c3_bc")
	if n := strings.Count(shown, " you  "); n != 3 {
		t.Errorf("the session has %d messages of the user:\n%s", n, shown)
	}
	failed := runFirn(t, a.home, "cat", "@agent:main:ag-ui:failing")
	if strings.Count(failed, "\n  first question\n") > 2 || strings.Count(failed, " you  ") != 2 { // one of them is the title
		t.Errorf("the session of runs that failed is\n%s", failed)
	}
	runFirn(t, a.home, "verify")
}
