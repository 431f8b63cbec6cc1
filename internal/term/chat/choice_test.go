package chat

import "testing"

// TestChoices checks that settings are saved in the session.
func TestChoices(t *testing.T) {
	s := set(t, func(o *Options) { o.Model, o.Thinking = "firn/offline", "low" }).start()
	now, err := s.c.fetchSession(t.Context())
	if err != nil || now.State.Model != "offline" || now.State.Thinking != "low" {
		t.Fatalf("chosen is %+v, %v", now.State, err)
	}
	n := len(s.entries())
	if err := s.c.applyOptions(t.Context()); err != nil || len(s.entries()) != n {
		t.Errorf("what was chosen already was chosen again: %v", err)
	}
	s.does("/model", "/model ollama/x", "/think", "/think high", "/think hard", "/verbose on", "/verbose", "/verbose maybe", "/new")
	now, err = s.c.fetchSession(t.Context())
	if err != nil || now.State.Model != "x" || now.State.Thinking != "high" {
		t.Errorf("in the new session is chosen %+v, %v", now.State, err)
	}
	says(t, s.err.String(), "model firn/offline; providers: firn,", "model for this session: ollama/x",
		"thinking is low; levels: off", "thinking for this session: high", `thinking level "hard"`, "verbose for this session: on", "/verbose on|off", "verbose is on or off", "new session; ")
	s.does("/model ollama/")
	says(t, s.err.String(), "a model is named provider/model")
}
