// Package provider defines the interface to language models: a model receives a window and
// streams back an answer.
//
// [Model] is the contract. Packages anthropic, openai, offline and scripted implement it,
// and package providertest tests it. This package also contains the shared parts: kinds of
// failure ([Error]), requests with retries ([Ask]), the catalog of known models
// ([Catalogue]) and the HTTP client ([Endpoint]).
//
// A provider never reads or writes a log.
package provider

import (
	"context"
	"encoding/json"
	"iter"

	"firn.dev"
	"firn.dev/window"
)

// Model is one model at one provider. It is safe for concurrent use.
type Model interface {
	// Info returns the model's info. It never changes.
	Info() Info

	// Stream sends a request and yields the answer as it arrives: deltas in order, then
	// exactly one [Done] with the complete answer, and nothing after it. If the answer is
	// incomplete, the last value is an error instead, a [*Error] or the context's: a
	// truncated answer is never reported as Done. Stream does not retry.
	//
	// The request must have been made for this model: its window is built with the model's
	// profile and ask. Each iteration over the sequence sends a new request. Breaking out
	// of the loop cancels the request.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Counter is a model whose provider counts the tokens of a request exactly.
type Counter interface {
	// CountTokens returns the number of tokens of the request without requesting an answer.
	CountTokens(ctx context.Context, req Request) (int64, error)
}

// Info describes a model.
type Info struct {
	// Provider, API and Name are recorded in the model's answers.
	Provider, API, Name string
	Spec
	// Profile adapts windows to the API.
	Profile window.Profile
	// Formats means that the API accepts a [Format] for the answer.
	Formats bool
}

// Ask returns the parameters for building this model's windows.
func (i Info) Ask() window.Ask {
	return window.Ask{API: i.API, Provider: i.Provider, Model: i.Name}
}

// Spec is the catalog entry of a model.
type Spec struct {
	// Window is the maximum number of tokens of a request and its answer together.
	// MaxOutput is the maximum of the answer, or zero if unknown.
	Window    int64 `json:"window"`
	MaxOutput int64 `json:"maxOutput,omitempty"`
	Price     Price `json:"price,omitzero"`
	// Thinks means that the model supports thinking, Sees that it accepts images.
	Thinks bool `json:"thinks,omitempty"`
	Sees   bool `json:"sees,omitempty"`
	// Assumed means that the model is unknown and the values are guesses.
	Assumed bool `json:"assumed,omitempty"`
}

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input,omitempty"`
	Output     float64 `json:"output,omitempty"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"`
}

// Cost returns the cost of one answer's usage.
func (p Price) Cost(u firn.Usage) firn.Cost {
	const million = 1e6
	c := firn.Cost{
		Input:      float64(u.Input) * p.Input / million,
		Output:     float64(u.Output) * p.Output / million,
		CacheRead:  float64(u.CacheRead) * p.CacheRead / million,
		CacheWrite: float64(u.CacheWrite) * p.CacheWrite / million,
	}
	c.Total = c.Input + c.Output + c.CacheRead + c.CacheWrite
	return c
}

// Request is a request to a model.
type Request struct {
	// Window holds the system prompt and the messages, built for this model. Items with
	// injections change from run to run; everything before the first of them is stable and
	// can be cached.
	Window window.Window
	// Tools are the tools that the model may call, always in the same order.
	Tools []Tool
	// MaxTokens limits the answer; zero means the model's limit.
	MaxTokens int64
	// Thinking is the thinking level, [ThinkOff] to [ThinkMax]. Empty means off. Models
	// that do not support thinking ignore it.
	Thinking Thinking
	// Stop are sequences before which the answer ends. Providers that cannot end it there
	// ignore them: [Ask] cuts the answer off.
	Stop []string
	// Format is the form of the answer; nil means text. Only models with [Info].Formats
	// accept it.
	Format *Format
	// Purpose is the purpose of the answer. Network providers ignore it.
	Purpose Purpose
	// Session allows a provider to group the requests of one session.
	Session firn.ID
}

// Format asks for an answer in JSON.
type Format struct {
	// Name and Description describe the form to the model.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of the answer. Empty means any JSON object.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Strict asks the provider to enforce the schema; nil leaves it to the provider.
	Strict *bool `json:"strict,omitempty"`
}

// Tokens counts all tokens of a request with c. It ignores the usage reported for earlier
// requests.
func (r *Request) Tokens(c window.TokenCounter) int64 {
	n := c.CountText(r.Window.System)
	for i := range r.Window.Items {
		n += c.CountMessage(&r.Window.Items[i].Message)
	}
	for _, t := range r.Tools {
		n += t.Tokens(c)
	}
	return n
}

// Tool is the description of a tool for a model.
type Tool struct {
	Name, Description string
	// Schema is the JSON schema of the arguments, an object.
	Schema json.RawMessage
}

// Tokens counts the tokens of the tool's description with c.
func (t Tool) Tokens(c window.TokenCounter) int64 {
	return c.CountText(t.Name) + c.CountText(t.Description) + c.CountText(string(t.Schema))
}

// Thinking is a thinking level.
type Thinking string

// The thinking levels.
const (
	ThinkOff     Thinking = "off"
	ThinkMinimal Thinking = "minimal"
	ThinkLow     Thinking = "low"
	ThinkMedium  Thinking = "medium"
	ThinkHigh    Thinking = "high"
	ThinkMax     Thinking = "xhigh"
)

// Purpose is the purpose of an answer.
type Purpose string

// The purposes of an answer. The zero value is a turn of a conversation.
const (
	ForTurn    Purpose = ""
	ForSummary Purpose = "summary"
	ForTitle   Purpose = "title"
	ForFlush   Purpose = "flush"
	ForMemory  Purpose = "memory"
)
