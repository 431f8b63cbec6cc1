// Package provider says what a language model is to firn: something that is
// sent a window and streams back an answer.
//
// [Model] is the contract; the members of the family (anthropic, openai,
// offline, scripted) keep it, and package providertest proves that they do.
// What all of them need is here too: the kinds of failure ([Error]), asking
// with retries ([Ask]), the catalogue of known models ([Catalogue]) and the
// manners of talking HTTP ([Endpoint]).
//
// A provider never reads or writes a log.
package provider

import (
	"context"
	"encoding/json"
	"iter"

	"firn"
	"firn/window"
)

// Model is one model at one provider. Its methods may be called from many
// goroutines.
type Model interface {
	// Info tells what the model is. It is the same for the model's whole life.
	Info() Info

	// Stream sends a request and yields what comes back, as it comes: deltas in
	// order, then exactly one [Done] with the whole answer, and nothing after it.
	// If the answer cannot be had whole, the last thing yielded is an error
	// instead, a [*Error] or the context's: an answer that was cut off, however
	// much of it came, is never Done. Nothing is retried here.
	//
	// The request must have been made for this model: a window built with its
	// profile and ask. Ranging over the sequence twice asks twice. To stop
	// ranging ends the request.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Counter is a model whose provider counts the tokens of a request exactly.
type Counter interface {
	// CountTokens returns how many tokens the request would be, without asking
	// for an answer.
	CountTokens(ctx context.Context, req Request) (int64, error)
}

// Info is what is known of a model.
type Info struct {
	// Provider, API and Name are what answers of the model are marked with.
	Provider, API, Name string
	Spec
	// Profile makes windows fit the API.
	Profile window.Profile
}

// Ask is how the windows of this model are to be built.
func (i Info) Ask() window.Ask {
	return window.Ask{API: i.API, Provider: i.Provider, Model: i.Name}
}

// Spec is what the catalogue knows of a model.
type Spec struct {
	// Window is how many tokens a request and its answer may have together,
	// MaxOutput how many of them the answer; zero if not known.
	Window    int64 `json:"window"`
	MaxOutput int64 `json:"maxOutput,omitempty"`
	Price     Price `json:"price,omitzero"`
	// Thinks says that the model can be asked to think, Sees that it takes images.
	Thinks bool `json:"thinks,omitempty"`
	Sees   bool `json:"sees,omitempty"`
	// Assumed says that the model is not known, and that the figures are what
	// one would expect of it.
	Assumed bool `json:"assumed,omitempty"`
}

// Price is in US dollars for a million tokens.
type Price struct {
	Input      float64 `json:"input,omitempty"`
	Output     float64 `json:"output,omitempty"`
	CacheRead  float64 `json:"cacheRead,omitempty"`
	CacheWrite float64 `json:"cacheWrite,omitempty"`
}

// Cost is what the usage of one answer costs.
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

// Request is what a model is sent.
type Request struct {
	// Window holds the system prompt and the messages, built for this model.
	// Items with injections in them change from run to run; what stands before
	// the first of them is the same in the next run, and can be cached.
	Window window.Window
	// Tools are what the model may call, always in the same order.
	Tools []Tool
	// MaxTokens bounds the answer; zero leaves it to the model.
	MaxTokens int64
	// Thinking is how hard to think: [ThinkOff] to [ThinkMax]. Empty is off. A
	// model that cannot think ignores it.
	Thinking Thinking
	// Purpose says what the answer is for. Models over the network do not look
	// at it.
	Purpose Purpose
	// Session lets a provider keep the requests of one session together.
	Session firn.ID
}

// Tokens is how many tokens a request has, by a counter: all that is sent, and not what
// was reported of what was sent before.
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

// Tool is a tool as a model sees it.
type Tool struct {
	Name, Description string
	// Schema is the JSON schema of the arguments, an object.
	Schema json.RawMessage
}

// Tokens is how many tokens telling a model of the tool takes, by a counter.
func (t Tool) Tokens(c window.TokenCounter) int64 {
	return c.CountText(t.Name) + c.CountText(t.Description) + c.CountText(string(t.Schema))
}

// Thinking is how hard a model shall think.
type Thinking string

// How hard a model shall think.
const (
	ThinkOff     Thinking = "off"
	ThinkMinimal Thinking = "minimal"
	ThinkLow     Thinking = "low"
	ThinkMedium  Thinking = "medium"
	ThinkHigh    Thinking = "high"
	ThinkMax     Thinking = "xhigh"
)

// Purpose says what an answer is for.
type Purpose string

// What an answer is for. The zero value is a turn of a conversation.
const (
	ForTurn    Purpose = ""
	ForSummary Purpose = "summary"
	ForTitle   Purpose = "title"
	ForFlush   Purpose = "flush"
	ForMemory  Purpose = "memory"
)
