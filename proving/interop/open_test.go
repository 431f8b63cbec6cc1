package interop

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store/filestore"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

// TestPiOpens lets pi open sessions of every shape: it must see and send the same as firn,
// and change nothing.
func TestPiOpens(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		for name, shape := range shapes {
			t.Run(name, func(t *testing.T) {
				s := newSession(t, filestore.Options{})
				shape.build(t, s)
				s.mustBeWhole(t)
				if diff := cmp.Diff(shape.says, texts(windowMessages(t, s.path(t)))); shape.says != nil && diff != "" {
					t.Fatalf("firn's window differs (-want +got):\n%s", diff)
				}
				got := p.openUnchanged(t, s.file())
				s.mustAgree(t, got)
				s.mustShow(t, got)
				mustSendTheSame(t, s.unhidden(t), got)
				if !shape.hides {
					mustSendTheSame(t, s.path(t), got)
				} else if cmp.Equal(windowMessages(t, s.path(t)), sentMessages(t, got)) {
					t.Error("pi obeys tombstones: remove this difference from the package comment")
				}
			})
		}
	})
}

// mustShow checks that pi has every line of the file unchanged, and shows its labels and
// title.
func (s *session) mustShow(t *testing.T, got piState) {
	t.Helper()
	want := lines(t, s.file())
	held := append([]map[string]any{got.Header}, got.Entries...)
	if diff := cmp.Diff(want, held); diff != "" {
		t.Fatalf("pi has different lines (-file +pi):\n%s", diff)
	}
	labels, name := map[string]string{}, ""
	for _, e := range s.entries(t) {
		switch b := e.Body.(type) {
		case *firn.Label:
			labels[string(b.Target)] = b.Name
			if b.Name == "" {
				delete(labels, string(b.Target))
			}
		case *firn.Title:
			name = b.Name
		}
	}
	if diff := cmp.Diff(labels, got.Labels); diff != "" {
		t.Fatalf("pi shows other labels (-firn +pi):\n%s", diff)
	}
	if name != got.Name {
		t.Fatalf("pi shows the title %q, want %q", got.Name, name)
	}
}

// lines reads the lines of a file as JSON.
func lines(t *testing.T, file string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range bytes.Lines(readFile(t, file)) {
		var members map[string]any
		if err := json.Unmarshal(line, &members); err != nil {
			t.Fatalf("%s: %v in %.200q", file, err, line)
		}
		all = append(all, members)
	}
	return all
}

// TestPiLists lets pi list a directory of firn's sessions, next to the session table.
func TestPiLists(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s := newSession(t, filestore.Options{})
		s.talk(t, "one", "two")
		s.add(t, &firn.Title{Name: "Two questions", Source: firn.SourceUser})
		if err := s.st.Bind(t.Context(), "agent:main:main", s.id); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(s.file())
		before := snapshot(t, dir)
		got := p.ask(t, request{List: dir, CWD: s.home})
		want := []piSession{{Path: s.file(), ID: string(s.id), CWD: s.home, Name: "Two questions", FirstMessage: "ask one", MessageCount: 4}}
		if diff := cmp.Diff(want, got.Sessions); diff != "" {
			t.Errorf("pi lists something else (-want +pi):\n%s", diff)
		}
		if got.Recent != s.file() {
			t.Errorf("pi would continue %q, want %q", got.Recent, s.file())
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("pi changed the directory by listing it:\n%s\nwas\n%s", after, before)
		}
	})
}

// TestKnownDifferences checks the differences that the package comment lists, so that their
// disappearance is noticed.
func TestKnownDifferences(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		t.Run("an automatic title after the user's", func(t *testing.T) {
			s := newSession(t, filestore.Options{})
			s.talk(t, "one")
			s.add(t, &firn.Title{Name: "Mine", Source: firn.SourceUser})
			s.add(t, &firn.Title{Name: "A guess", Source: firn.SourceAuto})
			if got := p.openUnchanged(t, s.file()); got.Name != "A guess" {
				t.Errorf("pi shows %q", got.Name)
			}
		})
		t.Run("the end of a command", func(t *testing.T) { testShellWords(t, p) })
		t.Run("a system prompt", func(t *testing.T) {
			s := newSession(t, filestore.Options{})
			systemPrompt(t, s)
			if got := window.Build(s.path(t), window.Options{}).System; got != "Be kind." {
				t.Errorf("firn's system prompt is %q", got)
			}
			sent := p.openUnchanged(t, s.file()).Sent
			if drops := sent[0]["role"] != "system"; drops != p.old() {
				t.Errorf("pi drops the system prompt: %v", drops)
			}
		})
	})
}

// testShellWords checks that pi describes a failed command to the model in different words
// after the same beginning.
func testShellWords(t *testing.T, p *pi) {
	s := newSession(t, filestore.Options{})
	code := 2
	for _, shell := range []firn.Shell{
		{Command: "make", Output: "no rule\n", ExitCode: &code},
		{Command: "sleep 9", Cancelled: true},
		{Command: "cat log", Output: "…", Truncated: true, FullOutput: "/tmp/log"},
	} {
		s.add(t, &firn.Message{Role: firn.RoleShell, Time: at, Parts: []firn.Part{shell}})
	}
	ours, theirs := texts(windowMessages(t, s.path(t))), texts(sentMessages(t, p.openUnchanged(t, s.file())))
	if len(ours) != 3 || len(theirs) != 3 {
		t.Fatalf("firn sends %q, pi %q", ours, theirs)
	}
	for i, begin := range []string{"Ran `make`\n```\nno rule\n\n```\n\n", "Ran `sleep 9`\n(no output)\n\n", "Ran `cat log`\n```\n…\n```\n\n"} {
		our, ok := strings.CutPrefix(ours[i], begin)
		their, okToo := strings.CutPrefix(theirs[i], begin)
		if !ok || !okToo || our == their {
			t.Errorf("firn sends %q, pi %q; both should begin with %q and differ", ours[i], theirs[i], begin)
		}
	}
}
