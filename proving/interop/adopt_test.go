package interop

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"

	"github.com/google/go-cmp/cmp"
)

// TestAdopt copies a session that pi started into a home. firn lists, resumes and continues
// it, and pi reads the result.
func TestAdopt(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		cwd := t.TempDir()
		begun := p.ask(t, request{Create: t.TempDir(), CWD: cwd, Calls: []call{
			{"appendModelChange", "anthropic", "claude-test"},
			{"appendThinkingLevelChange", "medium"},
			{"appendMessage", piUser("ask one")},
			{"appendMessage", piAssistant("Reading.", piToolCall("call_1"))},
			{"appendMessage", piToolResult("call_1", "alpha\n")},
			{"appendMessage", piAssistant("answer one")},
			{"appendSessionInfo", "Begun by pi"},
		}}).State
		s := adopt(t, begun)
		s.mustBeWhole(t)
		s.mustList(t, cwd, "Begun by pi", "ask one")
		s.mustAgree(t, begun)
		mustSendTheSame(t, s.path(t), begun)

		if err := s.st.Bind(t.Context(), "agent:main:main", s.id); err != nil {
			t.Fatal(err)
		}
		if id, err := store.LoadOrCreate(t.Context(), s.st, "agent:main:main"); err != nil || id != s.id {
			t.Fatalf("the key leads to %s (%v), want %s", id, err, s.id)
		}
		s.talk(t, "two")
		got := p.open(t, s.file(), call{"appendMessage", piUser("ask three")}, call{"appendMessage", piAssistant("answer three")})
		s.mustAgree(t, got)
		mustSendTheSame(t, s.path(t), got)
		want := []string{"ask one", "Reading.", "answer one", "ask two", "answer two", "ask three", "answer three"}
		if diff := cmp.Diff(want, spoken(sentMessages(t, got))); diff != "" {
			t.Errorf("pi continues with something else (-want +pi):\n%s", diff)
		}
		s.mustBeWhole(t)
	})
}

// spoken returns the texts of the user and the assistant, without those of tools.
func spoken(messages []map[string]any) []string {
	return texts(slices.DeleteFunc(messages, func(m map[string]any) bool { return m["role"] == "toolResult" }))
}

// adopt copies a file of pi into a new home, under the ID in its header.
func adopt(t *testing.T, p piState) *session {
	t.Helper()
	s := openHome(t, t.TempDir(), filestore.Options{})
	s.id = firn.ID(p.Session)
	if err := os.MkdirAll(filepath.Dir(s.file()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file(), readFile(t, p.File), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// mustList checks firn's list entry of the only session in the home.
func (s *session) mustList(t *testing.T, cwd, title, prompt string) {
	t.Helper()
	var all []store.Info
	for info, err := range s.st.List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info)
	}
	if len(all) != 1 {
		t.Fatalf("firn lists %d sessions, want 1: %+v", len(all), all)
	}
	if got := all[0]; got.ID != s.id || got.CWD != cwd || got.Title != title || got.Prompt != prompt || got.Agent != "main" || got.Fault != "" || got.Created.IsZero() || got.Updated.IsZero() {
		t.Errorf("firn lists %+v", got)
	}
}

// TestPiForks lets pi fork firn's session into a new file, which firn then adopts. The
// original session must not change.
func TestPiForks(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s := newSession(t, filestore.Options{})
		s.add(t, userMessage("ask zero"))
		branched(t, s)
		ids := s.path(t).Entries
		before := readFile(t, s.file())
		fork := p.open(t, s.file(), call{"createBranchedSession", ids[len(ids)-2].ID})
		if string(readFile(t, s.file())) != string(before) {
			t.Error("pi changed the session that it forked")
		}
		if fork.Header["parentSession"] != s.file() {
			t.Errorf("pi gives the fork's origin as %v, want %s", fork.Header["parentSession"], s.file())
		}
		a := adopt(t, fork)
		a.mustBeWhole(t)
		a.talk(t, "six")
		got := p.openUnchanged(t, a.file())
		a.mustAgree(t, got)
		mustSendTheSame(t, a.path(t), got)
		if header := a.path(t).Header; header == nil || header.ParentSession != s.file() {
			t.Errorf("firn reads the header of the fork as %+v", header)
		}
	})
}
