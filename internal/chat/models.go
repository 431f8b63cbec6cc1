package chat

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn"
	"firn/provider"
	"firn/provider/anthropic"
	"firn/provider/offline"
	"firn/provider/openai"
	"firn/window"
)

// offlineModel is who answers if nobody is named.
const offlineModel = "firn/offline"

// vendor is somebody who has models. This table is the one place that knows
// them.
type vendor struct {
	name string
	// key is the variable with the key, address the one that names another
	// address. Empty: there is none.
	key, address string
	// url is where they are.
	url string
	// make makes a model of theirs.
	make func(model string, key, url string) provider.Model
}

// keyless reports whether they let everybody in at that address. Whoever names
// an address of their own may have a server that wants no key.
func (v vendor) keyless(url string) bool { return v.key == "" || url != v.url }

// vendors lists them all. Delay is how long the offline model takes for a word.
func vendors(delay time.Duration) []vendor {
	chat := func(name string, profile window.Profile) func(model, key, url string) provider.Model {
		return func(model, key, url string) provider.Model {
			return openai.NewChat(openai.Options{Name: model, Key: key, URL: url, Provider: name, Profile: profile})
		}
	}
	plain := window.Profile{}
	return []vendor{
		{"firn", "", "", "", func(string, string, string) provider.Model {
			return offline.New(offline.Options{Delay: delay})
		}},
		{"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", anthropic.DefaultURL, func(model, key, url string) provider.Model {
			return anthropic.New(anthropic.Options{Name: model, Key: key, URL: url})
		}},
		// Many servers speak OpenAI's older API, few the newer one.
		{"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", openai.DefaultURL, func(model, key, url string) provider.Model {
			if url != openai.DefaultURL {
				return chat("openai", plain)(model, key, url)
			}
			return openai.NewResponses(openai.Options{Name: model, Key: key, URL: url})
		}},
		{"openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL", openai.DefaultURL, chat("openai", plain)},
		{"openrouter", "OPENROUTER_API_KEY", "", "https://openrouter.ai/api/v1", chat("openrouter", plain)},
		{"groq", "GROQ_API_KEY", "", "https://api.groq.com/openai/v1", chat("groq", plain)},
		{"mistral", "MISTRAL_API_KEY", "", "https://api.mistral.ai/v1", chat("mistral", window.Mistral())},
		{"gemini", "GEMINI_API_KEY", "", "https://generativelanguage.googleapis.com/v1beta/openai", chat("gemini", window.Gemini())},
		{"deepseek", "DEEPSEEK_API_KEY", "", "https://api.deepseek.com/v1", chat("deepseek", plain)},
		{"ollama", "", "", "http://localhost:11434/v1", chat("ollama", plain)},
		{"lmstudio", "", "", "http://localhost:1234/v1", chat("lmstudio", plain)},
		{"llamacpp", "", "", "http://localhost:8080/v1", chat("llamacpp", plain)},
		{"vllm", "", "", "http://localhost:8000/v1", chat("vllm", plain)},
	}
}

// Providers names all providers there are.
func Providers() []string {
	var names []string
	for _, v := range vendors(0) {
		names = append(names, v.name)
	}
	return names
}

// models finds models by their names.
type models struct {
	vendors []vendor
	env     func(name string) string
}

// wordDelay is how long the offline model takes for a word if somebody watches.
const wordDelay = 12 * time.Millisecond

func newModels(o Options) models {
	delay := time.Duration(0)
	if o.Terminal.Out {
		delay = wordDelay
	}
	return models{vendors(delay), o.Env}
}

// named finds a model by PROVIDER/MODEL; empty means the offline model.
func (m models) named(name string) (provider.Model, error) {
	providerName, model, err := cutModel(cmp.Or(name, offlineModel))
	if err != nil {
		return nil, err
	}
	return m.find(providerName, model)
}

// find finds a model by the names of provider and model. It does not ask
// whether the provider has it.
func (m models) find(providerName, model string) (provider.Model, error) {
	i := slices.IndexFunc(m.vendors, func(v vendor) bool { return v.name == providerName })
	if i < 0 {
		return nil, &Problem{
			Err:  fmt.Errorf("there is no provider %q: %w", clean(providerName), firn.ErrInvalid),
			Hint: "the providers are " + strings.Join(Providers(), ", "),
		}
	}
	v := m.vendors[i]
	if providerName == "firn" && model != "offline" {
		return nil, &Problem{Err: fmt.Errorf("firn has no model %q: %w", clean(model), firn.ErrInvalid), Hint: "its own model is " + offlineModel}
	}
	key, url := "", v.url
	if v.key != "" {
		key = m.env(v.key)
	}
	if v.address != "" {
		url = cmp.Or(strings.TrimRight(m.env(v.address), "/"), url)
	}
	if key == "" && !v.keyless(url) {
		return nil, &provider.Error{Kind: provider.Auth, Provider: v.name, Model: model, Err: errors.New(v.key + " is not set")}
	}
	return v.make(model, key, url), nil
}

// keyOf is the variable that holds the key of a provider, empty if there is
// none.
func (m models) keyOf(providerName string) string {
	for _, v := range m.vendors {
		if v.name == providerName {
			return v.key
		}
	}
	return ""
}

// cutModel takes PROVIDER/MODEL apart. The name of a model may have slashes.
func cutModel(name string) (providerName, model string, err error) {
	providerName, model, ok := strings.Cut(name, "/")
	if !ok || providerName == "" || model == "" {
		return "", "", &Problem{
			Err:  fmt.Errorf("%w model %q: want PROVIDER/MODEL", firn.ErrInvalid, clean(name)),
			Hint: "the providers are " + strings.Join(Providers(), ", ") + "; " + offlineModel + " needs no key",
		}
	}
	return providerName, model, nil
}

// levels are the levels of thinking.
var levels = []provider.Thinking{provider.ThinkOff, provider.ThinkMinimal, provider.ThinkLow, provider.ThinkMedium, provider.ThinkHigh, provider.ThinkMax}

// checkThinking refuses what is no level of thinking. Empty is none.
func checkThinking(level string) error {
	if level == "" || slices.Contains(levels, provider.Thinking(level)) {
		return nil
	}
	return &Problem{
		Err:  fmt.Errorf("%w level of thinking %q", firn.ErrInvalid, clean(level)),
		Hint: "the levels are " + strings.Trim(fmt.Sprint(levels), "[]"),
	}
}
