// Package openai is a client for OpenAI's two APIs: [Chat] for Chat Completions, which many
// others support too (Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, Groq, Mistral,
// Gemini's compatible endpoint), and [Responses] for Responses.
//
// The same window always gives the same bytes, and earlier content precedes newer content,
// so that provider caches work. Decoding tolerates the differences between servers
// ([Quirks], and those detected in an answer), but an answer without an end signal is never
// treated as complete.
//
// The package keeps no state between requests and does not retry.
package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"time"

	"firn.dev/internal/base/pattern"
	"firn.dev/provider"
	"firn.dev/window"
)

// DefaultURL is the base URL of OpenAI's API.
const DefaultURL = "https://api.openai.com/v1"

// The API names recorded in answers.
const (
	ChatAPI      = "openai-completions"
	ResponsesAPI = "openai-responses"
)

// Options configures a model. Only Name is required.
type Options struct {
	// Name is the server's name for the model.
	Name string
	// Key is the API key; most local servers need none.
	Key string
	// URL is the base URL including the version; empty means [DefaultURL].
	URL string
	// Provider is the provider name in answers and errors; empty means "openai".
	Provider string
	// Profile adapts windows to the server. Without rules it is that of OpenAI's API;
	// Mistral and Gemini need their own.
	Profile window.Profile
	// Header is sent with every request, in addition to the key.
	Header http.Header
	// Client and Stall are those of [provider.Endpoint].
	Client *http.Client
	Stall  time.Duration
	// Spec describes the model; the zero value means the entry of the built-in catalog.
	Spec provider.Spec
	// Quirks describes how the server differs. Zero fields are derived from the URL and the
	// provider's name.
	Quirks Quirks
}

// Chat is a model behind the Chat Completions API.
type Chat struct{ wire }

// Responses is a model behind the Responses API.
type Responses struct{ wire }

var (
	_ provider.Model = (*Chat)(nil)
	_ provider.Model = (*Responses)(nil)
)

// NewChat returns a model behind the Chat Completions API.
func NewChat(o Options) *Chat {
	return &Chat{newWire(o, ChatAPI, window.OpenAIChat())}
}

// NewResponses returns a model behind the Responses API.
func NewResponses(o Options) *Responses {
	return &Responses{newWire(o, ResponsesAPI, window.OpenAIResponses())}
}

// Stream implements [provider.Model].
func (c *Chat) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return c.stream(ctx, "/chat/completions", req, c.chatRequest, func() decoder { return &chatAnswer{info: &c.info, counted: c.traits.streamUsage} })
}

// Stream implements [provider.Model].
func (r *Responses) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return r.stream(ctx, "/responses", req, r.responsesRequest, func() decoder { return &responsesAnswer{info: &r.info} })
}

// wire holds the fields that both clients share.
type wire struct {
	info     provider.Info
	endpoint provider.Endpoint
	traits   serverTraits
}

// Info returns the model's info.
func (w *wire) Info() provider.Info { return w.info }

func newWire(o Options, api string, profile window.Profile) wire {
	url := strings.TrimRight(cmp.Or(o.URL, DefaultURL), "/")
	name := cmp.Or(o.Provider, "openai")
	if len(o.Profile.Rules) > 0 {
		profile = o.Profile
	}
	header := o.Header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	header.Set("Accept", "text/event-stream, application/json")
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	spec := specOf(o, url, name)
	return wire{
		info:     provider.Info{Provider: name, API: api, Name: o.Name, Spec: spec, Profile: profile, Formats: true},
		endpoint: provider.Endpoint{Provider: name, URL: url, Header: header, Client: o.Client, Stall: o.Stall},
		traits:   o.Quirks.override(traitsOf(url, name, spec)),
	}
}

// specOf returns the spec of a model. For an OpenAI model that is not in the catalog,
// whether it can think is derived from its name; new models are assumed to accept images.
func specOf(o Options, url, name string) provider.Spec {
	if o.Spec != (provider.Spec{}) {
		return o.Spec
	}
	spec := provider.Known().Find(name, o.Name)
	if spec.Assumed && isOpenAI(url) && thinkers().MatchString(o.Name) {
		spec.Thinks, spec.Sees = true, true
	}
	return spec
}

// thinkers matches the names of OpenAI's thinking models: o1 and its successors, and GPT-5
// and later, except the chat variants.
var thinkers = pattern.New(`^(o[1-9]|gpt-([5-9]|[1-9][0-9])(\.[0-9]+)?(-[^c]|-codex|$))`)
