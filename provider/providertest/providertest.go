// Package providertest holds the promises of [provider.Model] as tests. Every
// member of the family runs them.
//
// # How a member plugs in
//
// A member that talks HTTP spells an [Answer] in its wire format and is given a
// fake provider that sends it:
//
//	func TestContract(t *testing.T) {
//		providertest.Run(t, func(t *testing.T, play *providertest.Play) provider.Model {
//			url := play.Serve(t, spell)
//			return New(Options{URL: url, Key: providertest.Key, Model: "claude-test", Spec: providertest.Spec()})
//		}, providertest.NoCacheWrites)
//	}
//
//	// spell is the whole body of a good answer, server-sent events and all.
//	func spell(a providertest.Answer) []byte { ... }
//
// The model must be given [Key] as its key, which must never be seen in an
// error, and a price (that of [Spec] will do), so that costs can be checked.
// Spell text, thinking and arguments as several deltas: [Pieces] cuts them.
//
// A member without a wire asks [Play.Next] what to do, once for each request,
// and does it. What a member cannot do it names as a [Lack].
package providertest

import (
	"testing"
	"unicode/utf8"

	"firn"
	"firn/provider"
)

// Open makes the model that a test is about. It plays what play tells it.
type Open func(t *testing.T, play *Play) provider.Model

// Lack is something that a member cannot do. The tests of it are left out.
type Lack string

// What a member may lack.
const (
	// NoScript says that the member cannot be told what to answer. Only what is
	// true of all answers is tested.
	NoScript Lack = "script"
	// NoThinking says that the wire has no place for thinking.
	NoThinking Lack = "thinking"
	// NoCacheWrites says that the wire does not tell what was written to a cache.
	NoCacheWrites Lack = "cache writes"
	// NoCacheReads says that the wire does not tell what was read from a cache.
	NoCacheReads Lack = "cache reads"
	// NoHTTP says that there is no status, header or body to refuse with.
	NoHTTP Lack = "http"
	// NoPrice says that the member costs nothing.
	NoPrice Lack = "price"
)

// Key is the key that models under test are given. It must never get out.
const Key = "sk-providertest-Zm9yIHRlc3RzIG9ubHk"

// Spec is what a model under test may be given as its facts.
func Spec() provider.Spec {
	return provider.Spec{
		Window: 200_000, MaxOutput: 8192, Thinks: true, Sees: true,
		Price: provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
	}
}

// Answer is what a model says, whatever a wire calls it.
type Answer struct {
	// Thinking comes first, then Text, then Calls. Each may be empty.
	Thinking, Text string
	// Calls have an id, a name and arguments.
	Calls []firn.ToolCall
	// Usage has Input, Output, CacheRead and CacheWrite. Input is what was
	// neither read from a cache nor written to one.
	Usage firn.Usage
	// Stop is StopEnd, StopLength or StopToolUse.
	Stop firn.StopReason
}

// Pieces cuts a text as a provider would stream it: a few bytes at a time,
// never within a rune.
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
