package interop

import (
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider/offline"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/tool"
)

// agentTalk writes a session as an agent does: tools, titles, counters, a compaction with a
// pin, and an abandoned branch with a summary.
func agentTalk(t *testing.T, s *session) {
	t.Helper()
	a := &agent.Agent{
		Store: s.st, Model: offline.New(offline.Options{}), System: "Be good.", Tools: []tool.Tool{tool.Calc()},
		Compaction: compact.Settings{KeepRecent: 50},
	}
	send := func(text string) {
		for _, err := range a.Run(t.Context(), s.id, agent.TextInput(text)) {
			if err != nil {
				t.Fatal(err)
			}
		}
		a.Wait()
	}
	send("Hello, my name is Ada. Never forget that.")
	send("what is 12*7?")
	first := s.path(t).Entries[0].ID
	s.append(t, firn.NewEntry(&firn.Label{Target: first, Name: "pin"}))
	for range 5 {
		send("what is 3+4? " + strings.Repeat("and so on ", 20))
	}
	if _, err := a.Compact(t.Context(), s.id, "heed the sums"); err != nil {
		t.Fatal(err)
	}
	send("what is my name?")
	head := s.path(t).Head
	send("what is 1+1?")
	if _, err := a.Move(t.Context(), s.id, head, true); err != nil {
		t.Fatal(err)
	}
	send("and now?")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.st.Append(t.Context(), s.id, store.Any, firn.NewEntry(&firn.Custom{Type: "firn.draft", Data: []byte(`{"answer":"x","text":"cut o"}`)})); err != nil {
		t.Fatal(err)
	}
}

// TestPiOpensWhatAgentsWrote checks that pi sees all lines of an agent's session, would
// send the same messages as firn, and changes nothing.
func TestPiOpensWhatAgentsWrote(t *testing.T) {
	eachRelease(t, func(t *testing.T, p *pi) {
		s := newSession(t, filestore.Options{})
		agentTalk(t, s)
		s.mustBeWhole(t)
		before := readFile(t, s.file())
		got := p.openUnchanged(t, s.file())
		s.mustAgree(t, got)
		s.mustShow(t, got)
		mustSendTheSame(t, s.path(t), got)
		if string(readFile(t, s.file())) != string(before) {
			t.Error("pi changed the file")
		}
		if text := strings.Join(texts(windowMessages(t, s.path(t))), "\n"); !strings.Contains(text, "my name is Ada. Never forget that.") {
			t.Errorf("the pinned text is missing:\n%s", text)
		}
	})
}
