package chat

import (
	"strings"
	"testing"

	"firn.dev/wire"
)

// TestMatchSessions ranks sessions by title, first message, directory and ID.
func TestMatchSessions(t *testing.T) {
	all := []wire.Session{
		{ID: "1", Title: "Refactor the parser", CWD: "/src/shop"},
		{ID: "2", Title: "Trip", Prompt: "we travel to Rome", CWD: "/home/me"},
		{ID: "3", Title: "Fix the flaky test", CWD: "/src/parser"},
		{ID: "4", Prompt: "Größe ändern", CWD: "/src/übung"},
	}
	for text, want := range map[string]string{
		"": "1 2 3 4", "parser": "1 3", "PARS ref": "1", "rome": "2", "flky": "3", "rfctr": "1", "parser flaky": "3", "ändern": "4", "übung": "4",
		"xyz": "", "zz": "", "src": "1 3 4",
	} {
		var ids []string
		for _, s := range matchSessions(all, text) {
			ids = append(ids, string(s.ID))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
}

// TestPlace shows keys and directories within a width.
func TestPlace(t *testing.T) {
	for want, s := range map[string]wire.Session{
		"main:main":                    {Key: "agent:main:main", CWD: "/w"},
		"project:~/src/shop":           {Key: "agent:main:project:/home/me/src/shop"},
		"project:~/src/Shop":           {Key: "agent:main:project:/home/me/src/%53hop"},
		"project:…/way/deep/down/here": {Key: "agent:main:project:/srv/a/very/long/way/deep/down/here"},
		"~/src":                        {CWD: "/home/me/src"},
		"…/projects/with/long/names":   {CWD: "/srv/some/projects/with/long/names"},
		"/home/mean":                   {CWD: "/home/mean"},
		"":                             {},
	} {
		if got := Place(s, "/home/me", 28); got != want {
			t.Errorf("%+v is at %q, want %q", s, got, want)
		}
	}
	if got := ShortKey("agent:main:project:/srv/a/very/long/way/deep/down/here", 40); got != "agent:main:project:…/way/deep/down/here" {
		t.Errorf("the key is %q", got)
	}
}
