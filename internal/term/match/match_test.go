package match

import (
	"strings"
	"testing"

	"firn.dev/wire"
)

// TestSessions ranks sessions by title, first message, directory and ID.
func TestSessions(t *testing.T) {
	all := []wire.Session{
		{ID: "1", Title: "Refactor the parser", CWD: "/src/shop"},
		{ID: "2", Title: "Trip", Prompt: "we travel to Rome", CWD: "/home/me"},
		{ID: "3", Title: "Fix the flaky test", CWD: "/src/parser"},
		{ID: "4", Prompt: "Größe ändern", CWD: "/src/übung"},
	}
	for text, want := range map[string]string{
		"": "1 2 3 4", "parser": "1 3", "PARS ref": "1", "rome": "2", "flky": "3", "rfctr": "1", "parser flaky": "3", "ändern": "4", "übung": "4",
		"xyz": "", "rtp": "1", "fxflk": "3", "shop": "1", "SRCPAR": "3", "zz": "", "src": "1 3 4",
	} {
		var ids []string
		for _, s := range Sessions(all, text) {
			ids = append(ids, string(s.ID))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
}
