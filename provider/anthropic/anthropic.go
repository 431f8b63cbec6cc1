// Package anthropic is a client for Anthropic's Messages API and for compatible servers.
//
// It is a thin layer over the wire format. A request is a pure function of a window, its
// tools and the model's name (see encode): everything before the newest messages has the
// same bytes in every request of a conversation, except for the cache markers. The package
// relies on the guarantees of package window and repairs nothing itself. Content that has
// no representation in a request is an error before anything is sent.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// API is the API name recorded in answers.
const API = "anthropic-messages"

// DefaultURL is the base URL of Anthropic's API.
const DefaultURL = "https://api.anthropic.com"

// version is the API version sent with each request.
const version = "2023-06-01"

// CacheTTL selects how long the provider caches the prompt.
type CacheTTL string

// The cache lifetimes.
const (
	// CacheShort is five minutes from the last use.
	CacheShort CacheTTL = ""
	// CacheHour is an hour from the last use. Cache writes cost more.
	CacheHour CacheTTL = "1h"
	// CacheOff disables caching.
	CacheOff CacheTTL = "off"
)

// Options configures a model.
type Options struct {
	// Name is the ID of the model.
	Name string
	// Key is the API key. Without one nothing is sent, unless Header contains one.
	Key string
	// Provider is the provider name recorded in answers; empty means "anthropic".
	Provider string
	// URL is the base URL, with or without the version (/v1); empty means [DefaultURL].
	URL string
	// Header is sent with every request and overrides the headers that the API needs.
	// Values of Anthropic-Beta are added to the built-in ones.
	Header http.Header
	// Client and Stall are those of [provider.Endpoint].
	Client *http.Client
	Stall  time.Duration
	// Spec describes the model; the zero value means the entry of [provider.Known].
	Spec provider.Spec
	// CacheTTL is the lifetime of the provider's prompt cache.
	CacheTTL CacheTTL
}

// Model is a model behind the Messages API. It implements [provider.Model] and
// [provider.Counter].
type Model struct {
	info     provider.Info
	endpoint provider.Endpoint
	settings settings
	keyed    bool
}

var (
	_ provider.Model   = (*Model)(nil)
	_ provider.Counter = (*Model)(nil)
)

// New returns a model. It does not contact the provider.
func New(o Options) *Model {
	if o.Provider == "" {
		o.Provider = "anthropic"
	}
	if o.URL == "" {
		o.URL = DefaultURL
	}
	o.URL = strings.TrimSuffix(strings.TrimRight(o.URL, "/"), "/v1") // every path of the API includes it
	age := generationOf(o.Name)
	spec := specOf(o, age)
	header := headerOf(o, age)
	return &Model{
		info:     provider.Info{Provider: o.Provider, API: API, Name: o.Name, Spec: spec, Profile: window.Anthropic(), Formats: true},
		endpoint: provider.Endpoint{Provider: o.Provider, URL: o.URL, Header: header, Client: o.Client, Stall: o.Stall},
		settings: settings{name: o.Name, spec: spec, generation: age, ttl: o.CacheTTL},
		keyed:    header.Get("X-Api-Key") != "" || header.Get("Authorization") != "",
	}
}

// specOf returns the spec of a model. If the catalog does not contain it, whether it can
// think is derived from its name.
func specOf(o Options, age generation) provider.Spec {
	spec := o.Spec
	if spec == (provider.Spec{}) {
		spec = provider.Known().Find(o.Provider, o.Name)
	}
	if spec.Assumed && age.thinks {
		spec.Thinks, spec.Sees = true, true
	}
	return spec
}

func headerOf(o Options, age generation) http.Header {
	header := http.Header{}
	header.Set("Anthropic-Version", version)
	if o.Key != "" {
		header.Set("X-Api-Key", o.Key)
	}
	for name, values := range o.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if age.bound {
		betas := append([]string{bindingBeta}, header.Values("Anthropic-Beta")...)
		header.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	return header
}

// Info returns the model's info.
func (m *Model) Info() provider.Info { return m.info }

// Stream sends a request and yields the events of the answer.
//
// A refusal that contains text is an answer; calls that had started are dropped. A refusal
// without text is a BadRequest error with the code "refusal". A call whose arguments are
// not a JSON object is kept, with the received text in a member "invalid", the same
// encoding that package window uses. The model then learns about the mistake from the
// tool's error.
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		body, err := m.post(ctx, "/v1/messages", req, answering)
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		for event, err := range read(body, m.info) {
			if !yield(event, m.endpoint.Redact(err)) {
				return
			}
		}
	}
}

// CountTokens asks the provider for the number of tokens of the request. This is free, but
// counts against a rate limit.
func (m *Model) CountTokens(ctx context.Context, req provider.Request) (int64, error) {
	body, err := m.post(ctx, "/v1/messages/count_tokens", req, counting)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	reply, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return 0, err
	}
	var count struct {
		InputTokens *int64 `json:"input_tokens"`
	}
	if err := json.Unmarshal(reply, &count); err != nil || count.InputTokens == nil {
		return 0, &provider.Error{
			Kind: provider.Temporary, Provider: m.info.Provider, Model: m.info.Name, Partial: true,
			Err: errors.New("the response has no token count"),
		}
	}
	return *count.InputTokens, nil
}

// post encodes and sends a request.
func (m *Model) post(ctx context.Context, path string, req provider.Request, p purpose) (io.ReadCloser, error) {
	if !m.keyed {
		return nil, &provider.Error{
			Kind: provider.Auth, Provider: m.info.Provider, Model: m.info.Name,
			Err: fmt.Errorf("no API key; set one for the provider %s: %w", m.info.Provider, firn.ErrInvalid),
		}
	}
	body, err := encode(m.settings, req, p)
	if err != nil {
		return nil, &provider.Error{Kind: provider.BadRequest, Provider: m.info.Provider, Model: m.info.Name, Err: err}
	}
	return m.endpoint.Post(ctx, m.info.Name, path, body)
}
