package serve

import (
	"net/http"
	"time"

	"firn.dev/provider"
	"firn.dev/provider/anthropic"
	"firn.dev/provider/offline"
	"firn.dev/provider/openai"
	"firn.dev/window"
)

// OfflineModel is the default model.
const OfflineModel = "firn/offline"

// endpoint describes how to reach a model of a vendor.
type endpoint struct {
	name, model string
	key, url    string
	header      http.Header
	stall       time.Duration
	spec        provider.Spec
	profile     window.Profile
	quirks      openai.Quirks
	// client sends the requests; nil means the default client.
	client *http.Client
	// delay is the time the offline model takes per word.
	delay time.Duration
}

// vendor is a model provider. The table of vendors is the only place that lists them.
type vendor struct {
	name string
	// marked is the provider name recorded with answers, if it differs from name.
	marked string
	// key is the environment variable of the API key, address that of an alternative URL.
	// Empty means none.
	key, address string
	// url is the default URL.
	url string
	// kind is the API kind.
	kind    string
	profile func() window.Profile
}

// API kinds, as named in the settings.
const (
	kindOffline   = "offline"
	kindAnthropic = "anthropic"
	kindChat      = "openai-chat"
	kindResponses = "openai-responses"
)

// vendors returns all vendors.
func vendors() []vendor {
	return []vendor{
		{name: "firn", kind: kindOffline},
		{name: "anthropic", key: "ANTHROPIC_API_KEY", address: "ANTHROPIC_BASE_URL", url: anthropic.DefaultURL, kind: kindAnthropic},
		{name: "openai", key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL", url: openai.DefaultURL, kind: kindResponses},
		{name: "openai-chat", marked: "openai", key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL", url: openai.DefaultURL, kind: kindChat},
		{name: "openrouter", key: "OPENROUTER_API_KEY", url: "https://openrouter.ai/api/v1", kind: kindChat},
		{name: "groq", key: "GROQ_API_KEY", url: "https://api.groq.com/openai/v1", kind: kindChat},
		{name: "mistral", key: "MISTRAL_API_KEY", url: "https://api.mistral.ai/v1", kind: kindChat, profile: window.Mistral},
		{name: "gemini", key: "GEMINI_API_KEY", url: "https://generativelanguage.googleapis.com/v1beta/openai", kind: kindChat, profile: window.Gemini},
		{name: "deepseek", key: "DEEPSEEK_API_KEY", url: "https://api.deepseek.com/v1", kind: kindChat},
		{name: "ollama", url: "http://localhost:11434/v1", kind: kindChat},
		{name: "lmstudio", url: "http://localhost:1234/v1", kind: kindChat},
		{name: "llamacpp", url: "http://localhost:8080/v1", kind: kindChat},
		{name: "vllm", url: "http://localhost:8000/v1", kind: kindChat},
	}
}

// Providers returns the names of the built-in providers.
func Providers() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.name)
	}
	return names
}

// KeyOf returns the environment variable of a provider's API key, or "" if it needs none or
// is unknown.
func KeyOf(provider string) string {
	for _, v := range vendors() {
		if v.name == provider {
			return v.key
		}
	}
	return ""
}

// open creates a model for an endpoint and an API kind.
func open(kind string, d endpoint) provider.Model {
	switch kind {
	case kindOffline:
		o := offline.Options{Delay: d.delay}
		if !d.spec.Assumed { // set in the settings
			o.Window = d.spec.Window
		}
		return offline.New(o)
	case kindAnthropic:
		return anthropic.New(anthropic.Options{Name: d.model, Key: d.key, URL: d.url, Provider: d.name, Header: d.header, Client: d.client, Stall: d.stall, Spec: d.spec})
	}
	o := openai.Options{
		Name: d.model, Key: d.key, URL: d.url, Provider: d.name, Profile: d.profile, Header: d.header,
		Client: d.client, Stall: d.stall, Spec: d.spec, Quirks: d.quirks,
	}
	if kind == kindResponses {
		return openai.NewResponses(o)
	}
	return openai.NewChat(o)
}
