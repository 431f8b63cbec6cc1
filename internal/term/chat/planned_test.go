package chat

import (
	"strings"
	"testing"

	"firn.dev/store"
)

// TestPlanned checks that a chat creates no session before its first message, whatever is
// looked at, and that /new creates none either.
func TestPlanned(t *testing.T) {
	s := set(t, func(o *Options) { o.Thinking = "low" }).start()
	sessions := func() (n int) {
		for _, err := range s.st.List(t.Context(), store.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	looks := []string{"/status", "/usage", "/history", "/tree", "/window", "/rewind", "/retry", "/fork", "/label x", "/delete", "/model", "/think", "/sessions", "/new", "/export x", "/diff", "/undo"}
	s.does(looks...)
	if n := sessions(); n != 0 {
		t.Fatalf("%d sessions before the first message", n)
	}
	if strings.Contains(s.err.String(), "/v1/") || strings.Contains(s.err.String(), "invalid name") {
		t.Errorf("a command was sent for a session that does not exist: %s", s.err.String())
	}
	says(t, s.err.String(), "new; the first message creates it", "this session has no messages", "model scripted/scripted", "thinking is low", "this session is already new")

	s.does("/think high")
	first := s.c.id
	if now, err := s.c.fetchSession(t.Context()); err != nil || first == "" || now.State.Thinking != "high" || !now.Empty {
		t.Errorf("a setting was chosen: %+v, %v", now, err)
	}
	s.does("/new", "/new", "/status")
	if n := sessions(); n != 1 {
		t.Errorf("%d sessions after /new, want 1", n)
	}
	s.create()
	if now, err := s.c.fetchSession(t.Context()); err != nil || now.ID == first || now.State.Thinking != "high" {
		t.Errorf("the next session: %+v, %v", now, err)
	}
}
