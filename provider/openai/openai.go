// Package openai talks to models over the two APIs of OpenAI: [Chat] speaks
// Chat Completions, which so many others speak too (Ollama, llama.cpp, vLLM,
// LM Studio, OpenRouter, Groq, Mistral, Gemini's compatible endpoint), and
// [Responses] speaks Responses.
//
// Requests are the same bytes for the same window, and what was sent before
// stays in front of what is new, so that a provider's cache finds it again.
// Streams are read with patience for what servers do differently ([Quirks],
// and what is found in an answer), but an answer that does not say that it is
// whole is never taken for one.
//
// The package keeps nothing between requests and never asks twice.
package openai

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"time"

	"firn/provider"
	"firn/window"
)

// DefaultURL is the address of OpenAI.
const DefaultURL = "https://api.openai.com/v1"

// What answers are marked with.
const (
	ChatAPI      = "openai-completions"
	ResponsesAPI = "openai-responses"
)

// Options says which model to talk to, and where. Only Name is needed.
type Options struct {
	// Name is what the server calls the model.
	Name string
	// Key lets us in; local servers mostly want none.
	Key string
	// URL is the base address, as far as the version; empty means [DefaultURL].
	URL string
	// Provider is what answers and errors are marked with; empty means "openai".
	Provider string
	// Profile makes windows fit the server. Without rules it is that of OpenAI's
	// own API; Mistral and Gemini want theirs.
	Profile window.Profile
	// Header is sent with every request, beside the key.
	Header http.Header
	// Client and Stall are those of [provider.Endpoint].
	Client *http.Client
	Stall  time.Duration
	// Spec is what is known of the model; zero means what firn's own catalogue
	// knows of it.
	Spec provider.Spec
	// Quirks says where the server differs; what is left out is found out from
	// the address and the provider's name.
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

// NewChat makes a model behind the Chat Completions API.
func NewChat(o Options) *Chat {
	return &Chat{newWire(o, ChatAPI, window.OpenAIChat())}
}

// NewResponses makes a model behind the Responses API.
func NewResponses(o Options) *Responses {
	return &Responses{newWire(o, ResponsesAPI, window.OpenAIResponses())}
}

// Stream asks the model; see [provider.Model].
func (c *Chat) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return c.stream(ctx, "/chat/completions", req, c.chatRequest, func() decoder { return &chatAnswer{info: &c.info, counted: c.manners.streamUsage} })
}

// Stream asks the model; see [provider.Model].
func (r *Responses) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return r.stream(ctx, "/responses", req, r.responsesRequest, func() decoder { return &responsesAnswer{info: &r.info} })
}

// wire is what both clients have in common.
type wire struct {
	info     provider.Info
	endpoint provider.Endpoint
	manners  manners
}

// Info tells what the model is.
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
		info:     provider.Info{Provider: name, API: api, Name: o.Name, Spec: spec, Profile: profile},
		endpoint: provider.Endpoint{Provider: name, URL: url, Header: header, Client: o.Client, Stall: o.Stall},
		manners:  o.Quirks.over(mannersOf(url, name, spec)),
	}
}

// specOf is what is known of a model. Of one of OpenAI's that the catalogue
// does not know, the name tells whether it thinks; all new ones see.
func specOf(o Options, url, name string) provider.Spec {
	if o.Spec != (provider.Spec{}) {
		return o.Spec
	}
	spec := provider.Known().Find(name, o.Name)
	if spec.Assumed && isOpenAI(url) && thinkers.MatchString(o.Name) {
		spec.Thinks, spec.Sees = true, true
	}
	return spec
}

// thinkers are the names of OpenAI's models that think: o1 and its kin, and
// the GPTs from the fifth on, but for those made for chatting.
var thinkers = regexp.MustCompile(`^(o[1-9]|gpt-([5-9]|[1-9][0-9])(\.[0-9]+)?(-[^c]|-codex|$))`)
