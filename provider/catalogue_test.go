package provider_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
)

// TestKnown checks that the embedded file is valid, plausible, sorted and not too large.
func TestKnown(t *testing.T) {
	data, err := os.ReadFile("models.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := provider.ParseCatalogue(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 150_000 {
		t.Errorf("the file has %d bytes", len(data))
	}
	known := provider.Known()
	if !slices.Equal(known.Providers(), c.Providers()) || len(known.Providers()) < 10 {
		t.Errorf("the providers are %v", known.Providers())
	}
	for _, name := range []string{"anthropic", "openai", "google", "mistral", "xai", "deepseek", "groq", "openrouter"} {
		if len(known.Names(name)) == 0 {
			t.Errorf("no model of %s is known", name)
		}
	}
	count := 0
	for _, p := range known.Providers() {
		for _, m := range known.Names(p) {
			count++
			s := known.Find(p, m)
			if s.Assumed || s.Window < 1000 || s.Window > 20_000_000 || s.MaxOutput <= 0 || s.MaxOutput > s.Window {
				t.Errorf("%s/%s: %+v", p, m, s)
			}
			if s.Price.Input < 0 || s.Price.Input > 1000 || s.Price.Output < 0 || s.Price.Output > 2000 || s.Price.CacheRead < 0 || s.Price.CacheWrite < 0 {
				t.Errorf("%s/%s: %+v", p, m, s.Price)
			}
		}
	}
	if lines := strings.Count(string(data), `"window"`); lines != count || lines != strings.Count(string(data), "\n")-2-2*len(known.Providers()) {
		t.Errorf("%d models on %d lines", count, strings.Count(string(data), "\n"))
	}
	if s := known.Find("anthropic", "claude-sonnet-4-5"); !s.Thinks || !s.Sees || s.Price != (provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}) {
		t.Errorf("claude-sonnet-4-5 is %+v", s)
	}
}

// catalog returns a small catalog in which each model has a different window.
func catalog(t *testing.T) provider.Catalogue {
	t.Helper()
	c, err := provider.ParseCatalogue([]byte(`{
		"anthropic": {
			"claude-a-4": {"window": 1}, "claude-a-4-5": {"window": 2}, "claude-a-4-5-20250101": {"window": 3},
			"claude-b-20240101": {"window": 4}, "claude-b-20250101": {"window": 5}, "claude-c-latest": {"window": 6}},
		"google": {"gemini-9-pro-preview": {"window": 10}},
		"openai": {"gpt-9": {"window": 20, "price": {"input": 1}}, "gpt-9.1": {"window": 21}, "gpt-9-2024-08-06": {"window": 22}, "o9": {"window": 23}},
		"openrouter": {"openai/gpt-9": {"window": 30}, "meta-llama/llama-9": {"window": 31, "price": {"input": 1}}, "qwen/qwen-9": {"window": 32}, "cohere/command": {"window": 33}},
		"groq": {"llama-9": {"window": 31, "price": {"input": 2}}, "qwen/qwen-9": {"window": 39}},
		"amazon-bedrock": {"us.anthropic.claude-z-20250929-v1:0": {"window": 40}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFind(t *testing.T) {
	c := catalog(t)
	tests := []struct {
		provider, model string
		window          int64
		assumed         bool
	}{
		{"anthropic", "claude-a-4-5", 2, false},
		{"anthropic", "claude-a-4-5-20250101", 3, false},
		{"Anthropic", "claude-a-4-5", 2, false},
		{"anthropic", "Claude-A-4-5", 2, false},
		{"anthropic", "claude-a-4-5-20261231", 2, false}, // another date
		{"anthropic", "claude-a-4-5@20261231", 2, false}, // the form used by Vertex
		{"anthropic", "claude-a-4.5", 2, false},
		{"anthropic", "claude-a-4-5-latest", 2, false},
		{"anthropic", "claude-b", 5, false}, // the latest
		{"anthropic", "claude-b-latest", 5, false},
		{"anthropic", "claude-c", 6, false},
		{"anthropic", "claude-c-20250101", 6, false},
		{"anthropic", "claude-a-4-turbo", 1, true},     // same prefix
		{"anthropic", "claude-a-4-5-turbo-x", 2, true}, // the longest prefix
		{"anthropic", "claude-a-45", provider.AssumedWindow, true},
		{"anthropic", "anthropic/claude-a-4.5", 2, false},
		{"openai", "gpt-9-2024-08-06", 22, false},
		{"openai", "gpt-9-2025-01-01", 20, false},
		{"openai", "gpt-9.1-mini", 21, true},
		{"openai", "o9-pro", 23, true},
		{"openai", "o90", provider.AssumedWindow, true},
		{"google", "models/gemini-9-pro-preview", 10, false},
		{"google", "gemini-9-pro", 10, true},
		{"google", "gemini-9-pro-preview-05-06", 10, true},
		{"openrouter", "openai/gpt-9", 30, false},
		{"openrouter", "openai/gpt-9:nitro", 30, false},
		{"openrouter", "anthropic/claude-a-4.5", 2, false},  // missing there; found under its maker
		{"litellm", "anthropic/claude-a-4-5", 2, false},     // unknown provider
		{"litellm", "openrouter/openai/gpt-9.1", 21, false}, // the last two segments count
		{"my-server", "gpt-9", 20, false},                   // the entry of its maker is preferred
		{"", "gpt-9", 20, false},
		{"my-server", "llama-9", 31, false},                  // all agree
		{"my-server", "meta-llama/llama-9", 31, false},       //
		{"my-server", "qwen-9", 32, true},                    // they disagree: the smallest
		{"my-server", "command", 33, false},                  //
		{"my-server", "openai/gpt-9-turbo", 20, true},        // same prefix
		{"my-server", "llama", provider.AssumedWindow, true}, // no common prefix
		{"amazon-bedrock", "eu.anthropic.claude-z-20250929-v1:0", 40, false},
		{"amazon-bedrock", "anthropic.claude-z-20250929-v1:0", 40, false},
		{"nobody", "nothing", provider.AssumedWindow, true},
		{"openai", "", provider.AssumedWindow, true},
		{"", "", provider.AssumedWindow, true},
		{"openai", "/", provider.AssumedWindow, true},
	}
	for _, tt := range tests {
		if s := c.Find(tt.provider, tt.model); s.Window != tt.window || s.Assumed != tt.assumed {
			t.Errorf("%s %s: got %d, assumed %v; want %d, %v", tt.provider, tt.model, s.Window, s.Assumed, tt.window, tt.assumed)
		}
	}
	if s := c.Find("my-server", "gpt-9"); s.Price.Input != 1 {
		t.Errorf("the maker's price is %+v", s.Price)
	}
	if s := c.Find("my-server", "llama-9"); s.Price != (provider.Price{}) {
		t.Errorf("a price that differs between hosts is returned: %+v", s.Price)
	}
	if s := (provider.Catalogue{}).Find("openai", "gpt-9"); s != (provider.Spec{Window: provider.AssumedWindow, Assumed: true}) {
		t.Errorf("the empty catalog knows %+v", s)
	}
}

// TestFindNamesInUse checks that names in actual use are found in the embedded catalog.
func TestFindNamesInUse(t *testing.T) {
	for _, name := range []string{
		"anthropic claude-sonnet-4-5-20250929", "anthropic claude-3-5-sonnet-latest", "anthropic claude-opus-4-1",
		"openai gpt-5", "openai gpt-4o-2024-08-06", "openai o3-mini", "openrouter anthropic/claude-sonnet-4.5", "openrouter openai/gpt-5:nitro",
		"google gemini-2.5-pro", "mistral mistral-large-latest", "xai grok-4", "litellm anthropic/claude-sonnet-4-5", "azure gpt-4.1-mini",
		"vertex claude-sonnet-4-5@20250929", "groq openai/gpt-oss-120b", "amazon-bedrock eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
	} {
		p, m, _ := strings.Cut(name, " ")
		if s := provider.Known().Find(p, m); s.Assumed {
			t.Errorf("%s is not known", name)
		}
	}
}

func TestWith(t *testing.T) {
	c := catalog(t)
	before := c.Find("openai", "gpt-9")
	var overrides map[string]provider.Override
	if err := json.Unmarshal([]byte(`{
		"openai/gpt-9": {"price": {"output": 7}, "thinks": true},
		"openai/gpt-9.1": {"window": 1000, "maxOutput": 500},
		"anthropic/claude-a-4-5": {"sees": true},
		"ollama/qwen3:8b": {"window": 4096},
		"ollama/guess": {"price": {"input": 0.5}},
		"openrouter/openai/gpt-9": {"window": 77},
		"anthropic/claude-a-4": {"window": -1},
		"openai/o9": {"price": {"input": -1}},
		"no slash": {"window": 5}
	}`), &overrides); err != nil {
		t.Fatal(err)
	}
	w := c.With(overrides)
	tests := []struct {
		provider, model string
		want            provider.Spec
	}{
		{"openai", "gpt-9", provider.Spec{Window: 20, Price: provider.Price{Input: 1, Output: 7}, Thinks: true}},
		{"openai", "gpt-9.1", provider.Spec{Window: 1000, MaxOutput: 500}},
		{"anthropic", "claude-a-4-5", provider.Spec{Window: 2, Sees: true}},
		{"ollama", "qwen3:8b", provider.Spec{Window: 4096}},
		{"ollama", "guess", provider.Spec{Window: provider.AssumedWindow, Price: provider.Price{Input: 0.5}, Assumed: true}},
		{"openrouter", "openai/gpt-9", provider.Spec{Window: 77}},
		{"anthropic", "claude-a-4", provider.Spec{Window: 1}}, // invalid overrides are ignored
		{"openai", "o9", provider.Spec{Window: 23}},
		{"openai", "gpt-9-2024-08-06", provider.Spec{Window: 22}}, // not overridden
	}
	for _, tt := range tests {
		if got := w.Find(tt.provider, tt.model); got != tt.want {
			t.Errorf("%s/%s: got %+v, want %+v", tt.provider, tt.model, got, tt.want)
		}
	}
	if c.Find("openai", "gpt-9") != before || len(c.Names("ollama")) != 0 {
		t.Error("the catalog itself was changed")
	}
	var wrong []string
	for key, o := range overrides {
		if err := o.Check(); errors.Is(err, firn.ErrInvalid) {
			wrong = append(wrong, key)
		}
	}
	slices.Sort(wrong)
	if !slices.Equal(wrong, []string{"anthropic/claude-a-4", "openai/o9"}) {
		t.Errorf("wrong: %q", wrong)
	}
	empty := provider.Catalogue{}.With(maps.Clone(overrides))
	if s := empty.Find("ollama", "qwen3:8b"); s.Window != 4096 || s.Assumed {
		t.Errorf("the empty catalog does not accept an override: %+v", s)
	}
}

func TestParseCatalogueRefuses(t *testing.T) {
	for _, data := range []string{
		``, `[]`, `{"p":{"m":{}}}`, `{"p":{"m":{"window":0}}}`, `{"p":{"m":{"window":5,"maxOutput":6}}}`,
		`{"p":{"m":{"window":5,"price":{"input":-1}}}}`, `{"p":{"m":{"window":"5"}}}`,
	} {
		if _, err := provider.ParseCatalogue([]byte(data)); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: got %v", data, err)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("openai", "gpt-5-2025-01-01")
	f.Add("", "a/b/c:free")
	f.Fuzz(func(t *testing.T, p, m string) {
		s := provider.Known().Find(p, m)
		if s.Window <= 0 || s != provider.Known().Find(p, m) {
			t.Errorf("got %+v, and another time %+v", s, provider.Known().Find(p, m))
		}
	})
}
