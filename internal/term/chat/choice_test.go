package chat

import "testing"

// TestChoices checks that the model and thinking level of the command line apply to the chat
// and are not saved, and that those of commands are saved in the session.
func TestChoices(t *testing.T) {
	s := set(t, func(o *Options) { o.Model, o.Thinking = "firn/offline", "low" }).start()
	s.does("hello", "/model", "/think", "/status")
	now, err := s.c.fetchSession(t.Context())
	if err != nil || now.State.Thinking != "" {
		t.Fatalf("chosen: %+v, %v", now.State, err)
	}
	s.does("/model ollama/x", "/think high", "/think hard", "/verbose on", "/verbose", "/verbose maybe", "/new")
	now, err = s.c.fetchSession(t.Context())
	if err != nil || now.State.Model != "x" || now.State.Thinking != "high" || s.c.terms() != nil {
		t.Errorf("in the new session is chosen %+v, %v", now.State, err)
	}
	says(t, s.err.String(), "model firn/offline; providers: firn,", "thinking is low; levels: off", "firn/offline, thinking low", "model for this session: ollama/x",
		"thinking for this session: high", `thinking level "hard"`, "verbose for this session: on", "/verbose on|off", "verbose is on or off, not \"maybe\"\n", "/verbose off less", "new session; ")
	s.does("/model ollama/")
	says(t, s.err.String(), "expected provider/model")
	s.c.o.MissingKey = func(model string) string { return map[string]string{"ollama/y": "SOME_KEY"}[model] }
	s.does("/model ollama/y")
	says(t, s.err.String(), "model for this session: ollama/y\nit needs an API key in SOME_KEY, which is not set")
}
