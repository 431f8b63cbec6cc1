package serve

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/base/route"
	"firn.dev/tool"
	"firn.dev/wire"
)

// finds runs a tool of an agent as in a turn of a session.
func finds(t *testing.T, h *Instance, name, toolName string, arguments any) (string, error) {
	t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range h.agents[name].Tools {
		if tl.Spec().Name == toolName {
			var result tool.Result
			result, err = tl.Run(agent.WithBounds(t.Context(), route.Everything()), data)
			return firn.JoinText(result.Parts), err
		}
	}
	t.Fatalf("agent %s has no tool %s", name, toolName)
	return "", nil
}

func newSessionWith(t *testing.T, c *client.Client, s wire.NewSession, text string) wire.Session {
	t.Helper()
	session, err := c.NewSession(t.Context(), s)
	if err == nil {
		_, err = c.Append(t.Context(), session.ID, client.Any, wire.NewEntries{User: text})
	}
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// TestSearchTools checks that the tools find the agent's own messages and not those of
// others.
func TestSearchTools(t *testing.T) {
	h, c := openInstance(t, Options{Settings: load(t, "[agents.main]\n[agents.work]\n")})
	mine := newSessionWith(t, c, wire.NewSession{}, "The launch code of the toy rocket is kept in the blue drawer.")
	newSessionWith(t, c, wire.NewSession{Agent: "work"}, "The launch of the product is in May.")
	newSessionWith(t, c, wire.NewSession{Key: "agent:main:telegram:direct:ann"}, "My launch party is a secret.")
	got, err := finds(t, h, "main", "search_sessions", map[string]any{"query": "launch"})
	if err != nil || !strings.Contains(got, "blue drawer") || strings.Contains(got, "May") || strings.Contains(got, "party") {
		t.Errorf("it finds %q, %v", got, err)
	}
	if !strings.Contains(got, string(mine.ID)) || !strings.Contains(got, "> #1 user: ") {
		t.Errorf("the path is missing: %q", got)
	}
	got, err = finds(t, h, "main", "read_window", map[string]any{"session": mine.ID, "entry": "#1"})
	if err != nil || !strings.Contains(got, "blue drawer") {
		t.Errorf("it shows %q, %v", got, err)
	}
	if _, err := finds(t, h, "work", "read_window", map[string]any{"session": mine.ID, "entry": "#1"}); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("another agent gets %v", err)
	}
	for _, bad := range []map[string]any{{"query": ""}, {"query": "NOT x"}, {"query": "role:boss"}, {}} {
		if _, err := finds(t, h, "main", "search_sessions", bad); err == nil {
			t.Errorf("%v is not refused", bad)
		}
	}
	if got, err := finds(t, h, "main", "search_sessions", map[string]any{"query": "zebra"}); err != nil || !strings.Contains(got, "no results") {
		t.Errorf("it finds %q, %v", got, err)
	}
}

// TestPastMessages checks that past finds messages of other sessions with the same person.
func TestPastMessages(t *testing.T) {
	h, c := openInstance(t, Options{})
	one := newSessionWith(t, c, wire.NewSession{}, "Anna moved to Oslo in May.")
	newSessionWith(t, c, wire.NewSession{Key: "agent:main:telegram:direct:ann"}, "Anna moved to Bergen in June.")
	past, err := h.past(newPlace("main", "", "", route.Everything()), "")(t.Context(), "When did Anna move, and where to?", 5)
	if err != nil || len(past) != 1 || past[0].Session != one.ID || !strings.Contains(past[0].Text, "Oslo") {
		t.Errorf("it recalls %+v, %v", past, err)
	}
	if past, err := h.past(newPlace("main", "", "", route.Everything()), one.ID)(t.Context(), "Anna", 5); err != nil || len(past) != 0 {
		t.Errorf("the calling session recalls %+v, %v", past, err)
	}
	if past, err := h.past(newPlace("main", "", "", route.Everything()), "")(t.Context(), "?!", 5); err != nil || len(past) != 0 {
		t.Errorf("no words recall %+v, %v", past, err)
	}
}

// TestModelsCannotFindHidden checks that models cannot find hidden sessions and entries until
// they are shown again.
func TestModelsCannotFindHidden(t *testing.T) {
	h, c := openInstance(t, Options{})
	ctx := t.Context()
	gone := newSessionWith(t, c, wire.NewSession{}, "The secret word of the submarine is pelican.")
	part := newSessionWith(t, c, wire.NewSession{}, "The submarine dives at nine.")
	made, err := c.Append(ctx, part.ID, client.Any, wire.NewEntries{User: "The captain of it is called Walrus."})
	if err != nil {
		t.Fatal(err)
	}
	know := func(want ...string) {
		t.Helper()
		past, err := h.past(newPlace("main", "", "", route.Everything()), "")(ctx, "submarine", 5)
		content := ""
		for _, p := range past {
			content += p.Text + "\n"
		}
		found, findErr := finds(t, h, "main", "search_sessions", map[string]any{"query": "submarine OR captain"})
		window, windowErr := finds(t, h, "main", "read_window", map[string]any{"session": part.ID, "entry": "#1"})
		if err != nil || findErr != nil || windowErr != nil {
			t.Fatal(err, findErr, windowErr)
		}
		for _, word := range []string{"pelican", "Walrus"} {
			for what, text := range map[string]string{"recalled": content, "found": found, "read": window} {
				if wanted := slices.Contains(want, word) && (what != "read" || word == "Walrus"); strings.Contains(text, word) != wanted {
					t.Errorf("%s is %s: %v, want %v: %s", word, what, !wanted, wanted, text)
				}
			}
		}
	}
	know("pelican", "Walrus")
	if _, err := c.Remove(ctx, gone.ID, wire.Remove{}); err != nil {
		t.Fatal(err)
	}
	know("Walrus")
	if _, err := c.Hide(ctx, part.ID, wire.Hide{Entry: string(made.IDs[0])}); err != nil {
		t.Fatal(err)
	}
	know()
	if _, err := finds(t, h, "main", "read_window", map[string]any{"session": gone.ID, "entry": "#1"}); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("of the hidden session one gets %v", err)
	}
	if _, err := c.Restore(ctx, gone.ID); err != nil {
		t.Fatal(err)
	}
	know("pelican")
}

// TestSearchNamesWhatItCouldNotRead replaces a transcript with a directory. A search over
// HTTP returns the other hits and names the session to callers that may see it.
func TestSearchNamesWhatItCouldNotRead(t *testing.T) {
	w := withhold(t)
	id := firn.NewID()
	path := filepath.Join(w.house.home(), "agents", "main", "sessions", string(id)+".jsonl")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, who := range w.identities() {
		status, text := w.ask(who, "GET", "/v1/search?q=word", nil)
		var found wire.Found
		if err := json.Unmarshal([]byte(text), &found); err != nil || status != 200 {
			t.Fatalf("%s: %d %s", who.name, status, text)
		}
		sees := slices.Contains([]string{"a token bound to an agent", "a token that writes", "an admin", "the owner"}, who.name)
		if named := len(found.Unsearched) == 1 && found.Unsearched[0].Session == id; named != sees || strings.Contains(text, string(id)) != sees {
			t.Errorf("%s receives %+v", who.name, found.Unsearched)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := w.house.searchIndex.words.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, text := w.ask(identity{}, "GET", "/v1/search?q=word", nil); strings.Contains(text, string(id)) {
		t.Errorf("it was removed, but is listed: %s", text)
	}
}
