package chat

import (
	"errors"
	"strings"
	"testing"

	"firn"
	"firn/provider"
	"firn/provider/openai"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestModels(t *testing.T) {
	const secret = "sk-very-secret-0123456789"
	cases := []struct {
		name     string
		env      []string
		provider string
		api      string
	}{
		{"", nil, "firn", "offline"},
		{"firn/offline", nil, "firn", "offline"},
		{"anthropic/claude-x", []string{"ANTHROPIC_API_KEY", secret}, "anthropic", "anthropic-messages"},
		{"openai/gpt-x", []string{"OPENAI_API_KEY", secret}, "openai", openai.ResponsesAPI},
		{"openai/gpt-x", []string{"OPENAI_BASE_URL", "http://localhost:1/v1/"}, "openai", openai.ChatAPI},
		{"openai-chat/gpt-x", []string{"OPENAI_API_KEY", secret}, "openai", openai.ChatAPI},
		{"openrouter/meta/llama-x", []string{"OPENROUTER_API_KEY", secret}, "openrouter", openai.ChatAPI},
		{"ollama/llama3.2", nil, "ollama", openai.ChatAPI},
	}
	for _, c := range cases {
		m, err := newModels(Options{Env: env(c.env...)}).named(c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		_, want, _ := strings.Cut(c.name, "/")
		if info := m.Info(); info.Provider != c.provider || info.API != c.api || c.name != "" && info.Name != want || info.Window == 0 {
			t.Errorf("%s is %s %s %s", c.name, info.Provider, info.API, info.Name)
		}
	}
}

// TestEveryProvider finds a model of every provider there is, and asks for a
// key where one is needed.
func TestEveryProvider(t *testing.T) {
	for _, v := range vendors(0) {
		model := "m"
		if v.name == "firn" {
			model = "offline"
		}
		m := newModels(Options{Env: env(v.key, "secret-key")})
		if _, err := m.find(v.name, model); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		_, err := newModels(Options{Env: env()}).find(v.name, model)
		if (err != nil) != (v.key != "") {
			t.Errorf("%s without a key: %v", v.name, err)
		}
		if v.key != "" && (provider.KindOf(err) != provider.Auth || !strings.Contains(err.Error(), v.key+" is not set")) {
			t.Errorf("%s without a key: %v", v.name, err)
		}
	}
}

func TestUnknownModels(t *testing.T) {
	for name, want := range map[string]string{
		"nobody/x":  `there is no provider "nobody"`,
		"firn/x":    `firn has no model "x"`,
		"claude":    "want PROVIDER/MODEL",
		"/x":        "want PROVIDER/MODEL",
		"ollama/":   "want PROVIDER/MODEL",
		"a\x1b[2J/": "want PROVIDER/MODEL",
	} {
		_, err := newModels(Options{Env: env()}).named(name)
		var p *Problem
		if !errors.Is(err, firn.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v", name, err)
		}
		if !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%q has no hint", name)
		}
	}
}

// TestChoices lets a session remember what was chosen for it.
func TestChoices(t *testing.T) {
	s := set(t, func(o *Options) { o.Model, o.Thinking = "firn/offline", "low" }).begin()
	path, err := s.c.path(t.Context())
	if err != nil || path.Chosen.Model != "offline" || path.Chosen.ThinkingLevel != "low" {
		t.Fatalf("chosen is %+v, %v", path.Chosen, err)
	}
	n := len(s.entries())
	if err := s.c.insist(t.Context()); err != nil || len(s.entries()) != n {
		t.Errorf("what was chosen already was chosen again: %v", err)
	}
	s.does("/model", "/model ollama/x", "/think", "/think high", "/think hard", "/verbose on", "/verbose", "/verbose maybe", "/new")
	path, err = s.c.path(t.Context())
	if err != nil || path.Chosen.Model != "x" || path.Chosen.ThinkingLevel != "high" {
		t.Errorf("in the new session is chosen %+v, %v", path.Chosen, err)
	}
	says(t, s.err.String(), "firn/offline answers; the providers are firn,", "ollama/x answers in this session from now on",
		"thinking is low; the levels are off", "thinking is high in", `level of thinking "hard"`, "verbose is on", "/verbose on|off", "verbose is on or off", "new session ")
	s.does("/model ollama/")
	says(t, s.err.String(), "want PROVIDER/MODEL")
}
