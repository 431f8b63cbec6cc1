package serve

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// keyed is a provider that records the API keys it receives.
type keyed struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
}

func newKeyed(t *testing.T) *keyed {
	k := &keyed{}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		k.keys = append(k.keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+r.Header.Get("X-Team"))
		k.mu.Unlock()
		says(w, "Yes.")
	}))
	t.Cleanup(k.Close)
	return k
}

// taken returns the distinct keys since the last call.
func (k *keyed) taken() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := slices.Compact(slices.Sorted(slices.Values(k.keys)))
	k.keys = nil
	return strings.Join(keys, " ")
}

const profileSettings = `
[providers.talk]
kind = "openai-chat"
key_env = "TALK_KEY"
[providers.talk.profiles.work]
key_env = "WORK_KEY"
[providers.talk.profiles.team]
headers_env = { X-Team = "TEAM" }
[providers.talk.profiles.empty]
key_env = "NOT_SET"
[providers.other]
kind = "openai-chat"
key_env = "OTHER_KEY"
[defaults]
model = "talk/talker"
retries = 0
titles = false
fallbacks = ["other/talker"]
`

// profileInstance opens a gateway whose providers are all the same server.
func profileInstance(t *testing.T, change func(string) string) (*keyed, *client.Client) {
	k := newKeyed(t)
	text := strings.ReplaceAll(profileSettings, "kind = \"openai-chat\"\n", "kind = \"openai-chat\"\nurl = "+quoted(k.URL)+"\n")
	if change != nil {
		text = change(text)
	}
	vars := map[string]string{"TALK_KEY": "usual", "WORK_KEY": "work", "TEAM": "team", "OTHER_KEY": "other"}
	_, c := openInstance(t, Options{Settings: load(t, text), Env: func(name string) string { return vars[name] }})
	return k, c
}

// chooseAuth selects a profile.
func chooseAuth(t *testing.T, c *client.Client, id firn.ID, name string) wire.Session {
	t.Helper()
	s, err := c.Patch(t.Context(), id, wire.Patch{Auth: &name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAuthProfile checks that turns and compactions use the profile of the session, that it
// can be removed, survives a reset and does not affect other providers.
func TestAuthProfile(t *testing.T) {
	k, c := profileInstance(t, func(s string) string { return strings.Replace(s, `fallbacks = ["other/talker"]`, "", 1) })
	s, err := c.NewSession(t.Context(), wire.NewSession{Key: "agent:main:main"})
	if err != nil {
		t.Fatal(err)
	}
	turn := func(id firn.ID, want string) {
		t.Helper()
		if _, err := c.Turn(t.Context(), id, wire.Turn{Text: strings.Repeat("Is it so? ", 500)}); err != nil {
			t.Fatal(err)
		}
		if got := k.taken(); got != want {
			t.Errorf("the provider was asked with %q, want %q", got, want)
		}
	}
	if got := chooseAuth(t, c, s.ID, "work"); got.State.Auth != "talk/work" {
		t.Errorf("the session has the profile %q", got.State.Auth)
	}
	turn(s.ID, "work")
	turn(s.ID, "work")
	none := int64(1)
	if _, err := c.Compact(t.Context(), s.ID, wire.Compact{KeepRecent: none}); err != nil {
		t.Fatal(err)
	}
	if got := k.taken(); got != "work" {
		t.Errorf("a compaction used the key %q", got)
	}
	turn(s.ID, "work") // also after the compaction
	next, err := c.NewSession(t.Context(), wire.NewSession{Key: "agent:main:main", Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	turn(next.ID, "work")
	chooseAuth(t, c, next.ID, "talk/team")
	turn(next.ID, "team") // and not the default key as well
	other := "other/talker"
	if _, err := c.Patch(t.Context(), next.ID, wire.Patch{Model: &other}); err != nil {
		t.Fatal(err)
	}
	turn(next.ID, "other")
	if got := chooseAuth(t, c, next.ID, wire.Default); got.State.Auth != "" {
		t.Errorf("after undoing it the session has the profile %q", got.State.Auth)
	}
	back := wire.Default
	if _, err := c.Patch(t.Context(), next.ID, wire.Patch{Model: &back}); err != nil {
		t.Fatal(err)
	}
	turn(next.ID, "usual")
	for _, wrong := range []string{"wrok", "other/work", "nobody/work", "", "talk/"} {
		if _, err := c.Patch(t.Context(), s.ID, wire.Patch{Auth: &wrong}); wire.KindOf(err) != wire.Invalid {
			t.Errorf("the profile %q gives %v", wrong, err)
		}
	}
	wrong := "wrok"
	if _, err := c.Patch(t.Context(), s.ID, wire.Patch{Auth: &wrong}); !strings.Contains(err.Error(), "did you mean work?") {
		t.Errorf("a slip gives %v", err)
	}
}

// TestAuthProfileIsNotReplaced checks that a profile without a key never uses the default
// key.
func TestAuthProfileIsNotReplaced(t *testing.T) {
	k, c := profileInstance(t, func(s string) string { return strings.Replace(s, `fallbacks = ["other/talker"]`, "", 1) })
	s, err := c.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	chooseAuth(t, c, s.ID, "empty")
	if _, err := c.Turn(t.Context(), s.ID, wire.Turn{Text: "Is it?"}); err == nil || !strings.Contains(err.Error(), "NOT_SET") {
		t.Errorf("a profile without a key gives %v", err)
	}
	if got := k.taken(); got != "" {
		t.Errorf("the provider received the keys %q", got)
	}
}

// TestAuthProfileFallsBack checks that missing credentials trigger a fallback, like
// rejected ones.
func TestAuthProfileFallsBack(t *testing.T) {
	k, c := profileInstance(t, nil)
	s, err := c.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	chooseAuth(t, c, s.ID, "empty")
	if _, err := c.Turn(t.Context(), s.ID, wire.Turn{Text: "Is it?"}); err != nil {
		t.Fatal(err)
	}
	if got := k.taken(); got != "other" {
		t.Errorf("the providers received the keys %q", got)
	}
}
