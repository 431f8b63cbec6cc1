package chat

import (
	"testing"

	"firn.dev/wire"
)

// TestPlace shows keys and directories within a width.
func TestPlace(t *testing.T) {
	for want, s := range map[string]wire.Session{
		"main:main":                    {Key: "agent:main:main", CWD: "/w"},
		"project:~/src/shop":           {Key: "agent:main:project:/home/me/src/shop", Current: true},
		"project:~/src/Shop":           {Key: "agent:main:project:/home/me/src/%53hop", Current: true},
		"project:…/way/deep/down/here": {Key: "agent:main:project:/srv/a/very/long/way/deep/down/here", Current: true},
		"~/src/old":                    {Key: "agent:main:project:/home/me/src/old"},
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

// TestPrefixQuery searches words that are typed by their beginning, and leaves queries alone.
func TestPrefixQuery(t *testing.T) {
	for text, want := range map[string]string{
		"naut":           "(naut OR naut*)",
		" two  Words a ": "(two OR two*) (Words OR Words*) a",
		`"a phrase"`:     `"a phrase"`,
		"role:user boat": "role:user boat",
		"boat OR ship":   "boat OR ship",
		"über":           "(über OR über*)",
		"":               "",
	} {
		if got := prefixQuery(text); got != want {
			t.Errorf("%q is searched as %q, want %q", text, got, want)
		}
	}
}
