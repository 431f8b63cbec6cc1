package serve

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/ops/config"
	"firn.dev/provider"
	"firn.dev/provider/openai"
	"firn.dev/window"
	"firn.dev/wire"
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
		m, err := NewModels(config.Default(t.TempDir()), env(c.env...), 0).Named(c.name)
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

// TestEveryProvider checks that a model of every provider is found, and that a missing API
// key is reported on check and on use.
func TestEveryProvider(t *testing.T) {
	for _, v := range vendors() {
		model := "m"
		if v.name == "firn" {
			model = "offline"
		}
		defaults := config.Default(t.TempDir())
		if err := NewModels(defaults, env(v.key, "secret-key"), 0).Check(v.name + "/" + model); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		bare := NewModels(defaults, env(), 0)
		err := bare.Check(v.name + "/" + model)
		if (err != nil) != (v.key != "") || KeyOf(v.name) != v.key {
			t.Errorf("%s without a key: %v", v.name, err)
		}
		if v.key == "" {
			continue
		}
		var missing *NoKey
		if !errors.As(err, &missing) || missing.Variable != v.key || provider.KindOf(err) != provider.Auth || !strings.Contains(err.Error(), v.key+" is not set") {
			t.Errorf("%s without a key: %v", v.name, err)
		}
		m, err := bare.Find(v.name, model)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range m.Stream(t.Context(), provider.Request{}) {
			if provider.KindOf(err) != provider.Auth {
				t.Errorf("%s without a key answers %v", v.name, err)
			}
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
		_, err := NewModels(config.Default(t.TempDir()), env(), 0).Named(name)
		var p *wire.Problem
		if !errors.Is(err, firn.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v", name, err)
		}
		if !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%q has no hint", name)
		}
	}
}

// TestOwnProviders checks providers and models defined in the settings.
func TestOwnProviders(t *testing.T) {
	c := load(t, `
[providers.work]
kind = "openai-responses"
url = "http://localhost:9/v1"
key_env = "WORK_KEY"
[providers.work.models.big]
window = 1000000
[providers.anthropic]
key_env = "OTHER_KEY"
[models."firn/offline"]
window = 9000
`)
	m := NewModels(c.Config, env("OTHER_KEY", "x"), 0)
	big, err := m.Named("work/big")
	if err != nil || big.Info().Window != 1_000_000 || big.Info().API != openai.ResponsesAPI || big.Info().Provider != "work" {
		t.Errorf("work/big is %+v, %v", big.Info(), err)
	}
	if err := m.Check("anthropic/claude-x"); err != nil {
		t.Error(err)
	}
	small, err := m.Named("firn/offline")
	if err != nil || small.Info().Window != 9000 {
		t.Errorf("the offline model has a window of %d, %v", small.Info().Window, err)
	}
	if names := strings.Join(m.Providers(), " "); !strings.HasSuffix(names, " work") {
		t.Errorf("the providers are %s", names)
	}
	known := m.Known()
	if len(known) < 5 || known[0].ID != OfflineModel || known[0].Window != 9000 {
		t.Errorf("known are %v", known)
	}
}

// TestEncode checks that requests are encoded as they would be sent, without a key.
func TestEncode(t *testing.T) {
	m := NewModels(config.Default(t.TempDir()), env(), 0)
	said := firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "Is anybody there?"}}}
	for name, want := range map[string]string{
		"anthropic/claude-x": `"model":"claude-x"`, "openai/gpt-x": `"model":"gpt-x"`, "openai-chat/gpt-x": `"messages":`, "ollama/x": `"model":"x"`,
	} {
		model, err := m.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := encode(model, provider.Request{Window: window.Window{Items: []window.Item{{Message: said}}}})
		if err != nil || !json.Valid(body) || !strings.Contains(string(body), want) || !strings.Contains(string(body), "Is anybody there?") {
			t.Errorf("for %s is sent %s, %v", name, body, err)
		}
	}
	model, err := m.Named("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := encode(model, provider.Request{}); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("for the offline model: %v", err)
	}
}
