package interop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store/filestore"

	"github.com/google/go-cmp/cmp"
)

// twoParts creates a session with a second part, and returns it with the IDs of its
// messages.
func twoParts(t *testing.T) (*session, []firn.EntryID) {
	t.Helper()
	s := newSession(t, filestore.Options{PartSize: 2000})
	ids := s.talk(t, "one", "two", "three", "four")
	if _, err := os.Stat(s.part(2)); err != nil {
		t.Fatalf("the session has no second part: %v", err)
	}
	return s, ids
}

// part returns the path of a further part.
func (s *session) part(n int) string {
	return strings.TrimSuffix(s.file(), ".jsonl") + "_part" + string(rune('0'+n)) + ".jsonl"
}

// TestPiReadsOnlyTheFirstPart checks that pi opens only the first part of a session and
// changes none.
func TestPiReadsOnlyTheFirstPart(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s, ids := twoParts(t)
		got := p.openUnchanged(t, s.file())
		first := entryIDs(lines(t, s.file())[1:])
		if diff := cmp.Diff(first, entryIDs(got.Entries)); diff != "" {
			t.Errorf("pi sees other entries than those of the first part (-part +pi):\n%s", diff)
		}
		if len(first) == len(ids) || got.Leaf != first[len(first)-1] {
			t.Errorf("pi's leaf is %s, want the last of %v", got.Leaf, first)
		}
		dir := filepath.Dir(s.file())
		before := snapshot(t, dir)
		listed := p.ask(t, request{List: dir, CWD: s.home})
		if len(listed.Sessions) != 1 || listed.Sessions[0].Path != s.file() || listed.Recent != s.file() {
			t.Errorf("pi lists %+v and would continue %s", listed.Sessions, listed.Recent)
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("pi changed the directory by listing it:\n%s\nwas\n%s", after, before)
		}
	})
}

// TestPiAppendsToTheFirstPart lets pi append to the first part. Nothing is lost: for firn,
// pi's entries are on another branch, and the session continues from the end of its last
// part.
func TestPiAppendsToTheFirstPart(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s, ids := twoParts(t)
		before := windowMessages(t, s.path(t))
		got := p.open(t, s.file(), call{"appendMessage", piUser("ask pi")}, call{"appendMessage", piAssistant("answer pi")})
		if head := s.path(t).Head; head != ids[len(ids)-1] {
			t.Errorf("the head moved to %s", head)
		}
		if diff := cmp.Diff(before, windowMessages(t, s.path(t))); diff != "" {
			t.Errorf("the window changed:\n%s", diff)
		}
		if !slices.ContainsFunc(s.entries(t), func(e firn.Entry) bool { return string(e.ID) == got.Leaf }) {
			t.Errorf("firn does not see pi's entry %s", got.Leaf)
		}
		s.talk(t, "five")
		s.mustBeWhole(t)
	})
}

// TestPiOverwritesLaterPart shows why pi must not be given a later part: it has no header, and
// the old line overwrites it.
func TestPiOverwritesLaterPart(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s, _ := twoParts(t)
		before := readFile(t, s.part(2))
		got := p.try(t, request{Open: s.part(2)})
		harmed := string(readFile(t, s.part(2))) != string(before)
		if harmed != p.old() || (got.Error == "") != p.old() {
			t.Errorf("pi harms the later part: %v (%q)", harmed, got.Error)
		}
	})
}
