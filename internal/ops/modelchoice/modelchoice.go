// Package modelchoice finds the models a user can choose from, and the one that is used if
// nothing is configured.
//
// A [Table] lists the models of the catalog and the local servers that may have more. It is
// made without I/O. [Table.Local] asks the servers, and only those on this machine;
// [Table.Detect] picks a model from the API keys in the environment and the local servers;
// [Resolve] turns a bare name such as "sonnet" into PROVIDER/MODEL.
package modelchoice

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Offer is a model that can be chosen.
type Offer struct {
	// ID is PROVIDER/MODEL.
	ID string `json:"id"`
	// Window is the context window in tokens; zero if unknown.
	Window int64 `json:"window,omitempty"`
	// Input and Output are prices in US dollars per million tokens. Priced is false if they
	// are unknown.
	Input  float64 `json:"inputPrice,omitempty"`
	Output float64 `json:"outputPrice,omitempty"`
	Priced bool    `json:"priced"`
	// Variable is the environment variable of the API key; empty if none is needed. Ready is
	// true if the key is there or not needed.
	Variable string `json:"keyVariable,omitempty"`
	Ready    bool   `json:"ready"`
	// Local is true if a server on this machine has the model.
	Local bool `json:"local,omitempty"`
}

// Server is a server that lists its models.
type Server struct {
	// Provider is its name in model IDs, and Title its usual name.
	Provider, Title string
	// URL is the base address of its OpenAI-compatible API.
	URL string
	// Tags is true if it lists its models at /api/tags, as Ollama does.
	Tags bool
}

// Default is the model that a provider's key selects.
type Default struct{ Variable, ID string }

// Table has everything to choose from.
type Table struct {
	Offers  []Offer
	Servers []Server
	// Defaults are the models of the providers whose keys are set, in order of preference.
	Defaults []Default
	// Providers are the names of all providers.
	Providers []string
	// BaseURL is true if OPENAI_BASE_URL is set.
	BaseURL bool
	// Limit is how long [Table.Detect] waits for a server; zero means [Wait].
	Limit time.Duration
}

// Wait is how long a local server may take to list its models before it counts as absent.
const Wait = 50 * time.Millisecond

// BuiltIn is the model that needs neither a key nor a server.
const BuiltIn = "firn/offline"

// Found is the model that is used if nothing is configured.
type Found struct {
	ID string
	// Why says where it was found, in a few words.
	Why string
}

// Detect finds the model that is used if nothing is configured: that of the first API key in
// the environment, or the first model of a local server, or the built-in one. Servers are asked
// only if there is no key, or if OPENAI_BASE_URL names one.
func (t Table) Detect(ctx context.Context) Found {
	if len(t.Defaults) > 0 && !t.BaseURL {
		return Found{ID: t.Defaults[0].ID, Why: t.Defaults[0].Variable + " is set"}
	}
	local := t.Local(ctx, cmp.Or(t.Limit, Wait))
	if t.BaseURL {
		if i := slices.IndexFunc(local, func(o Offer) bool { return strings.HasPrefix(o.ID, "openai/") && isChat(o.ID) }); i >= 0 {
			return Found{ID: local[i].ID, Why: "OPENAI_BASE_URL is set"}
		}
	}
	if len(t.Defaults) > 0 {
		return Found{ID: t.Defaults[0].ID, Why: t.Defaults[0].Variable + " is set"}
	}
	if i := slices.IndexFunc(local, func(o Offer) bool { return isChat(o.ID) }); i >= 0 {
		return Found{ID: local[i].ID, Why: t.titleOf(local[i].ID) + " runs on this machine"}
	}
	return Found{ID: BuiltIn}
}

// titleOf returns the usual name of the server that has a model.
func (t Table) titleOf(id string) string {
	provider, _, _ := strings.Cut(id, "/")
	for _, s := range t.Servers {
		if s.Provider == provider {
			return s.Title
		}
	}
	return provider
}

// isChat reports whether a model can chat, by its name.
func isChat(id string) bool {
	low := strings.ToLower(id)
	return !strings.Contains(low, "embed") && !strings.Contains(low, "rerank") && !strings.Contains(low, "whisper") && !strings.Contains(low, "bge-")
}

// All returns the offers of the table and of the local servers, the local ones first.
func (t Table) All(ctx context.Context) []Offer {
	local := t.Local(ctx, 10*Wait)
	return append(local, slices.DeleteFunc(slices.Clone(t.Offers), func(o Offer) bool {
		return slices.ContainsFunc(local, func(l Offer) bool { return l.ID == o.ID })
	})...)
}
