// Package anthropic asks models that speak the Messages API of Anthropic: its
// own, and those of others who offer the same API.
//
// It is a thin client of the wire. A request is a pure function of a window,
// its tools and the model's name (see encode): what stands before the newest
// messages has the same bytes in every request of a conversation, but for the
// marks that say up to where it is worth caching. Nothing is repaired here
// that package window promises; what has no place in a request is an error
// before anything is sent.
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

	"firn"
	"firn/provider"
	"firn/window"
)

// API is what answers are marked with as the API that gave them.
const API = "anthropic-messages"

// DefaultURL is where Anthropic is.
const DefaultURL = "https://api.anthropic.com"

// version is the version of the API that is spoken here.
const version = "2023-06-01"

// CacheTTL says how long the provider shall keep what it has read of a
// conversation.
type CacheTTL string

// How long the provider keeps what it has read.
const (
	// CacheShort is five minutes from the last use.
	CacheShort CacheTTL = ""
	// CacheHour is an hour from the last use. Writing costs more.
	CacheHour CacheTTL = "1h"
	// CacheOff asks for no caching.
	CacheOff CacheTTL = "off"
)

// Options says which model to ask and where.
type Options struct {
	// Name is the id of the model.
	Name string
	// Key lets us in. Without one nothing is sent, unless Header has one.
	Key string
	// Provider is what answers are marked with; empty means "anthropic".
	Provider string
	// URL is the base address, with the version (/v1) or without; empty means
	// [DefaultURL].
	URL string
	// Header is sent with every request, besides what the API needs, and goes
	// before it. Values of Anthropic-Beta are added to ours.
	Header http.Header
	// Client makes the requests and Stall says how long they may be silent, as
	// in [provider.Endpoint].
	Client *http.Client
	Stall  time.Duration
	// Spec is what is known of the model; the zero value means to look it up in
	// the catalogue of [provider.Known].
	Spec provider.Spec
	// CacheTTL is how long the provider keeps what it has read.
	CacheTTL CacheTTL
}

// Model is one model behind the Messages API. It implements [provider.Model]
// and [provider.Counter].
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

// New makes a model. It does not talk to the provider yet.
func New(o Options) *Model {
	if o.Provider == "" {
		o.Provider = "anthropic"
	}
	if o.URL == "" {
		o.URL = DefaultURL
	}
	o.URL = strings.TrimSuffix(strings.TrimRight(o.URL, "/"), "/v1") // which every path of the API begins with
	age := ageOf(o.Name)
	spec := specOf(o, age)
	header := headerOf(o, age)
	return &Model{
		info:     provider.Info{Provider: o.Provider, API: API, Name: o.Name, Spec: spec, Profile: window.Anthropic()},
		endpoint: provider.Endpoint{Provider: o.Provider, URL: o.URL, Header: header, Client: o.Client, Stall: o.Stall},
		settings: settings{name: o.Name, spec: spec, age: age, ttl: o.CacheTTL},
		keyed:    header.Get("X-Api-Key") != "" || header.Get("Authorization") != "",
	}
}

// specOf finds what is known of a model. Of one that the catalogue does not
// know, the name tells whether it thinks.
func specOf(o Options, age age) provider.Spec {
	spec := o.Spec
	if spec == (provider.Spec{}) {
		spec = provider.Known().Find(o.Provider, o.Name)
	}
	if spec.Assumed && age.thinks {
		spec.Thinks, spec.Sees = true, true
	}
	return spec
}

func headerOf(o Options, age age) http.Header {
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

// Info tells what the model is.
func (m *Model) Info() provider.Info { return m.info }

// Stream sends a request and yields what comes back.
//
// A refusal is an answer if there is text in it: what the model would not say
// is missing, and so are the calls it had begun. One without text is an error,
// BadRequest with the code "refusal". A call whose arguments are not a JSON
// object is kept, with what came in a member "invalid", as package window
// would write it: then the model learns from the tool what was wrong.
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		body, err := m.post(ctx, "/v1/messages", req, answering)
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		for event, err := range read(body, m.info) {
			if !yield(event, m.endpoint.Blot(err)) {
				return
			}
		}
	}
}

// CountTokens asks the provider how many tokens the request would be. It costs
// nothing, but counts against a limit of requests.
func (m *Model) CountTokens(ctx context.Context, req provider.Request) (int64, error) {
	body, err := m.post(ctx, "/v1/messages/count_tokens", req, counting)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	said, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return 0, err
	}
	var count struct {
		InputTokens *int64 `json:"input_tokens"`
	}
	if err := json.Unmarshal(said, &count); err != nil || count.InputTokens == nil {
		return 0, &provider.Error{
			Kind: provider.Temporary, Provider: m.info.Provider, Model: m.info.Name, Began: true,
			Err: errors.New("the answer does not tell how many tokens there are"),
		}
	}
	return *count.InputTokens, nil
}

// post sends a request, or says why it cannot be sent.
func (m *Model) post(ctx context.Context, path string, req provider.Request, p purpose) (io.ReadCloser, error) {
	if !m.keyed {
		return nil, &provider.Error{
			Kind: provider.Auth, Provider: m.info.Provider, Model: m.info.Name,
			Err: fmt.Errorf("there is no key; set one for the provider %s: %w", m.info.Provider, firn.ErrInvalid),
		}
	}
	body, err := encode(m.settings, req, p)
	if err != nil {
		return nil, &provider.Error{Kind: provider.BadRequest, Provider: m.info.Provider, Model: m.info.Name, Err: err}
	}
	return m.endpoint.Post(ctx, m.info.Name, path, body)
}
