// Package providertest tests that implementations of [provider.Model] satisfy its contract.
// Every provider runs these tests.
//
// # Adding a provider
//
// An HTTP provider encodes an [Answer] in its wire format and connects to a fake server
// that sends it:
//
//	func TestContract(t *testing.T) {
//		providertest.Run(t, func(t *testing.T, play *providertest.Play) provider.Model {
//			url := play.Serve(t, encode)
//			return New(Options{URL: url, Key: providertest.Key, Model: "claude-test", Spec: providertest.Spec()})
//		}, providertest.NoCacheWrites)
//	}
//
//	// encode returns the complete body of an answer as server-sent events.
//	func encode(a providertest.Answer) []byte { ... }
//
// The model must use [Key] as its API key, which must never appear in an error, and have a
// price (that of [Spec] will do), so that costs can be checked. Text, thinking and
// arguments should be encoded as several deltas; [Pieces] splits them.
//
// A provider without a wire format calls [Play.Next] once per request and follows the
// returned part. Unsupported features are passed as [Lack] values.
package providertest

import (
	"testing"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/provider"
)

// Open returns the model under test, which answers according to play.
type Open func(t *testing.T, play *Play) provider.Model

// Lack is a feature that a provider does not support. The tests for it are skipped.
type Lack string

// The features that a provider may lack.
const (
	// NoScript means that the answers cannot be scripted. Only the rules that apply to all
	// answers are tested.
	NoScript Lack = "script"
	// NoThinking means that the wire format has no thinking.
	NoThinking Lack = "thinking"
	// NoCacheWrites means that the wire format does not report cache writes.
	NoCacheWrites Lack = "cache writes"
	// NoCacheReads means that the wire format does not report cache reads.
	NoCacheReads Lack = "cache reads"
	// NoHTTP means that there is no HTTP status, header or body.
	NoHTTP Lack = "http"
	// NoPrice means that the provider is free.
	NoPrice Lack = "price"
)

// Key is the API key of models under test. It must never appear in an error.
const Key = "sk-providertest-Zm9yIHRlc3RzIG9ubHk"

// Spec returns a spec for models under test.
func Spec() provider.Spec {
	return provider.Spec{
		Window: 200_000, MaxOutput: 8192, Thinks: true, Sees: true,
		Price: provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
	}
}

// Answer is an answer of a model, independent of the wire format.
type Answer struct {
	// Thinking, Text and Calls are sent in this order. Each may be empty.
	Thinking, Text string
	// Calls have an ID, a name and arguments.
	Calls []firn.ToolCall
	// Usage has Input, Output, CacheRead and CacheWrite. Input excludes tokens read from or
	// written to a cache.
	Usage firn.Usage
	// Stop is StopEnd, StopLength or StopToolUse.
	Stop firn.StopReason
}

// Pieces splits a text like a provider's stream: into a few bytes at a time, never within a
// rune.
func Pieces(s string) []string {
	const size = 7
	var pieces []string
	for s != "" {
		n := min(size, len(s))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}
