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

// OfflineModel is who answers if nobody is named.
const OfflineModel = "firn/offline"

// door is how a model of a vendor is reached.
type door struct {
	name, model string
	key, url    string
	header      http.Header
	stall       time.Duration
	spec        provider.Spec
	profile     window.Profile
	quirks      openai.Quirks
	// client makes the requests; nil means the usual one.
	client *http.Client
	// delay is how long the offline model takes for a word.
	delay time.Duration
}

// vendor is somebody who has models. This table is the one place that knows
// them.
type vendor struct {
	name string
	// marked is what answers are marked with, if that is not the name.
	marked string
	// key is the variable with the key, address the one that names another
	// address. Empty: there is none.
	key, address string
	// url is where they are.
	url string
	// kind is the API they speak.
	kind    string
	profile func() window.Profile
}

// The kinds of APIs, as the settings call them.
const (
	kindOffline   = "offline"
	kindAnthropic = "anthropic"
	kindChat      = "openai-chat"
	kindResponses = "openai-responses"
)

// vendors lists them all.
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

// Providers names the providers that need no settings.
func Providers() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.name)
	}
	return names
}

// KeyOf is the variable that holds the key of a provider, empty if it needs
// none or is not known.
func KeyOf(provider string) string {
	for _, v := range vendors() {
		if v.name == provider {
			return v.key
		}
	}
	return ""
}

// open makes the model behind a door, over the API of a kind.
func open(kind string, d door) provider.Model {
	switch kind {
	case kindOffline:
		o := offline.Options{Delay: d.delay}
		if !d.spec.Assumed { // the settings know better
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
