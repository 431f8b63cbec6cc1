package interop

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/ops/doctor"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

// session is a session in a separate firn home.
type session struct {
	home string
	st   *filestore.Store
	id   firn.ID
}

// newSession opens a new home and starts a session in it.
func newSession(t *testing.T, opts filestore.Options) *session {
	t.Helper()
	s := openHome(t, t.TempDir(), opts)
	s.append(t, firn.Entry{Body: &firn.Header{Session: s.id, CWD: s.home, Agent: "main", Key: "agent:main:main"}})
	return s
}

// openHome opens a home with a session that does not exist yet.
func openHome(t *testing.T, home string, opts filestore.Options) *session {
	t.Helper()
	opts.Sync = filestore.SyncNever // no power failures in these tests
	st, err := filestore.Open(home, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return &session{home: home, st: st, id: firn.NewID()}
}

// file returns the transcript or its first part.
func (s *session) file() string {
	return filepath.Join(s.home, "agents", "main", "sessions", string(s.id)+".jsonl")
}

// append appends entries and returns the ID of the last one.
func (s *session) append(t *testing.T, entries ...firn.Entry) firn.EntryID {
	t.Helper()
	if _, err := s.st.Append(t.Context(), s.id, store.Any, entries...); err != nil {
		t.Fatal(err)
	}
	return entries[len(entries)-1].ID
}

// add appends a body and returns the entry's ID.
func (s *session) add(t *testing.T, body firn.Body) firn.EntryID {
	t.Helper()
	return s.append(t, firn.NewEntry(body))
}

// addAfter appends a body below an entry other than the head.
func (s *session) addAfter(t *testing.T, parent firn.EntryID, body firn.Body) firn.EntryID {
	t.Helper()
	e := firn.NewEntry(body)
	e.Parent = parent
	return s.append(t, e)
}

// end returns the position after the last entry.
func (s *session) end(t *testing.T) store.Pos {
	t.Helper()
	pos, err := s.st.Append(t.Context(), s.id, store.Any)
	if err != nil {
		t.Fatal(err)
	}
	return pos
}

// entries reads the session from its beginning, without the header.
func (s *session) entries(t *testing.T) []firn.Entry {
	t.Helper()
	var entries []firn.Entry
	for rec, err := range s.st.Read(t.Context(), s.id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Gap != nil || rec.Glance.Kind == firn.KindHeader {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// path returns the live part of the session.
func (s *session) path(t *testing.T) window.Path {
	t.Helper()
	path, err := window.Collect(s.st.ReadBack(t.Context(), s.id, store.End))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// unhidden returns the path without applying tombstones.
func (s *session) unhidden(t *testing.T) window.Path {
	t.Helper()
	entries := s.entries(t)
	for i := range entries {
		if _, ok := entries[i].Body.(*firn.Tombstone); ok {
			entries[i].Body = &firn.Custom{Type: "a tombstone that nobody minds"}
		}
	}
	path, err := window.Collect(backward(entries))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// backward yields entries newest first, as a store does.
func backward(entries []firn.Entry) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		for i, e := range slices.Backward(entries) {
			if !yield(firn.NewRecord(firn.Pos(i), firn.Pos(i+1), e), nil) {
				return
			}
		}
	}
}

// verify runs doctor's checks on the session.
func (s *session) verify(t *testing.T) *doctor.Report {
	t.Helper()
	target, err := doctor.Find(vfs.OS{}, s.home, string(s.id))
	if err != nil {
		t.Fatal(err)
	}
	report, err := doctor.Verify(context.Background(), target, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Sessions != 1 {
		t.Fatalf("verify examined %d sessions, want 1", report.Sessions)
	}
	return report
}

// mustBeWhole fails the test if verify finds a fault.
func (s *session) mustBeWhole(t *testing.T) {
	t.Helper()
	if report := s.verify(t); !report.OK() {
		t.Fatalf("verify finds fault: %+v", report.Findings)
	}
}

// mustAgree checks that pi and firn see the same session: the same entries, head, path and
// settings. It does not compare the messages they send.
func (s *session) mustAgree(t *testing.T, got piState) {
	t.Helper()
	entries := s.entries(t)
	var tree firn.Tree
	ids, branch := []string{}, []string{}
	for _, e := range entries {
		ids = append(ids, string(e.ID))
		tree.Add(0, firn.GlanceOf(e))
	}
	for _, n := range tree.Path(tree.Head()) {
		branch = append(branch, string(tree.Node(n).ID))
	}
	if len(tree.Gaps()) > 0 {
		t.Fatalf("the tree has gaps: %v", tree.Gaps())
	}
	if diff := cmp.Diff(ids, entryIDs(got.Entries)); diff != "" {
		t.Fatalf("pi sees other entries (-firn +pi):\n%s", diff)
	}
	if diff := cmp.Diff(branch, got.Branch); diff != "" {
		t.Fatalf("pi walks another path (-firn +pi):\n%s", diff)
	}
	path := s.path(t)
	if string(path.Head) != got.Leaf {
		t.Fatalf("pi's leaf is %s, firn's head %s", got.Leaf, path.Head)
	}
	if want := settings(path.State); want != piSettings(got) {
		t.Fatalf("pi's settings are %+v, firn's %+v", piSettings(got), want)
	}
	if got.Session != string(s.id) {
		t.Fatalf("pi thinks the session is %s, want %s", got.Session, s.id)
	}
}

// settings returns a state with pi's name for no thinking.
func settings(s firn.State) firn.State {
	if s.ThinkingLevel == "" {
		s.ThinkingLevel = "off"
	}
	return s
}

func piSettings(p piState) firn.State {
	s := firn.State{ThinkingLevel: p.ThinkingLevel}
	if p.Model != nil {
		s.Provider, s.Model = p.Model.Provider, p.Model.ModelID
	}
	return s
}

// mustSendTheSame checks that pi would send exactly the messages in the window of the path.
func mustSendTheSame(t *testing.T, path window.Path, got piState) {
	t.Helper()
	if diff := cmp.Diff(windowMessages(t, path), sentMessages(t, got)); diff != "" {
		t.Fatalf("pi would send something else (-firn +pi):\n%s", diff)
	}
}

// windowMessages returns the messages of a window without a profile, in firn's own JSON.
func windowMessages(t *testing.T, path window.Path) []map[string]any {
	t.Helper()
	var messages []map[string]any
	for _, item := range window.Build(path, window.Options{}).Items {
		line, err := native.New().Append(nil, firn.Entry{ID: "x", Body: &item.Message})
		if err != nil {
			t.Fatal(err)
		}
		var entry struct{ Message map[string]any }
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, entry.Message)
	}
	return messages
}

// sentMessages returns the messages that pi would send, without known differences: failed
// answers, which pi drops later, and the system prompt. String content is replaced by the
// equivalent part.
func sentMessages(t *testing.T, p piState) []map[string]any {
	t.Helper()
	var messages []map[string]any
	for _, m := range p.Sent {
		if m["role"] == "system" || m["stopReason"] == "error" || m["stopReason"] == "aborted" {
			continue
		}
		if text, ok := m["content"].(string); ok {
			m["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		messages = append(messages, m)
	}
	return messages
}

// texts returns all texts of messages in order.
func texts(messages []map[string]any) []string {
	var all []string
	for _, m := range messages {
		parts, _ := m["content"].([]any)
		for _, p := range parts {
			if part, ok := p.(map[string]any); ok && part["type"] == "text" {
				all = append(all, fmt.Sprint(part["text"]))
			}
		}
	}
	return all
}

// snapshot returns the names and contents of the files in a directory.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		if f.IsDir() {
			fmt.Fprintf(&b, "%s/\n", f.Name())
			continue
		}
		content := readFile(t, filepath.Join(dir, f.Name()))
		fmt.Fprintf(&b, "%s %d %x\n", f.Name(), len(content), sha256.Sum256(content))
	}
	return b.String()
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
