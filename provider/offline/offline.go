// Package offline is the model that comes with firn: no network, no key, no
// learning, and no pretending.
//
// It matches words. It can call the tools it is offered when it is asked for
// the time, a sum, a file, a search or a note; it can quote what was said
// earlier in the conversation, in a summary of it or in recalled notes; and it
// can shorten a conversation by picking sentences out of it. What it does not
// understand it says it does not.
//
// It is deterministic: the same request gives the same events. It does no I/O
// and reads no clock.
package offline

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"firn"
	"firn/provider"
	"firn/window"
)

// The sizes of the model, in tokens.
const (
	usualWindow = 32_000
	maxOutput   = 4096
)

// Options says how the model behaves. The zero value has a window of 32,000
// tokens and does not wait.
type Options struct {
	// Window is how many tokens a request may have, zero means 32,000. A small
	// one is a way to see compaction at work.
	Window int64
	// Delay is how long to wait before each piece of an answer, to be pleasant
	// to read.
	Delay time.Duration
}

// Model is the offline model.
type Model struct {
	info  provider.Info
	delay time.Duration
}

// New makes the model.
func New(o Options) *Model {
	if o.Window <= 0 {
		o.Window = usualWindow
	}
	return &Model{delay: o.Delay, info: provider.Info{
		Provider: "firn", API: "offline", Name: "offline",
		Spec:    provider.Spec{Window: o.Window, MaxOutput: min(maxOutput, o.Window), Thinks: true},
		Profile: window.Anthropic(),
	}}
}

// Info tells what the model is.
func (m *Model) Info() provider.Info { return m.info }

// CountTokens counts a request as the model itself does, by its characters.
func (m *Model) CountTokens(_ context.Context, req provider.Request) (int64, error) {
	return req.Tokens(window.Chars{}), nil
}

// Stream answers a request, a word at a time. The message has no time: the
// model has no clock.
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if ctx.Err() != nil {
			yield(nil, m.ended(ctx))
			return
		}
		input := req.Tokens(window.Chars{})
		if input > m.info.Window {
			yield(nil, &provider.Error{
				Kind: provider.Overflow, Provider: m.info.Provider, Model: m.info.Name,
				Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", input, m.info.Window),
			})
			return
		}
		limit := m.limit(req, input)
		message := m.message(answer(req, limit), req, input, limit)
		for event := range events(message.Parts) {
			if !m.pause(ctx) {
				yield(nil, m.ended(ctx))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
		yield(provider.Done{Message: message}, nil)
	}
}

// limit is how many tokens an answer may have.
func (m *Model) limit(req provider.Request, input int64) int64 {
	limit := min(m.info.MaxOutput, m.info.Window-input)
	if req.MaxTokens > 0 {
		limit = min(limit, req.MaxTokens)
	}
	return limit
}

// pause waits before a piece. It is false if the context ended.
func (m *Model) pause(ctx context.Context) bool {
	if m.delay <= 0 || ctx.Err() != nil {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(m.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ended says that the caller's context ended the request.
func (m *Model) ended(ctx context.Context) error {
	return fmt.Errorf("ask %s/%s: %w", m.info.Provider, m.info.Name, context.Cause(ctx))
}

// message is the whole answer, cut to its limit.
func (m *Model) message(r reply, req provider.Request, input, limit int64) firn.Message {
	message := firn.Message{
		Role: firn.RoleAssistant, API: m.info.API, Provider: m.info.Provider, Model: m.info.Name,
		StopReason: firn.StopEnd,
	}
	if req.Thinking == "" || req.Thinking == provider.ThinkOff {
		r.thought = ""
	}
	var whole bool
	message.Parts, whole = r.parts(limit)
	switch {
	case !whole:
		message.StopReason = firn.StopLength
	case len(r.calls) > 0:
		message.StopReason = firn.StopToolUse
	}
	output := window.Chars{}.CountMessage(&message)
	message.Usage = &firn.Usage{Input: input, Output: output, Total: input + output}
	message.Usage.Cost = m.info.Price.Cost(*message.Usage)
	return message
}

// reply is an answer before it is cut and streamed.
type reply struct {
	// thought says what was matched.
	thought string
	text    string
	calls   []firn.ToolCall
}

// parts are what fits into so many tokens: some of the text, and whole calls.
// What was thought is left out first. Whole says that nothing had to be cut.
func (r reply) parts(limit int64) (parts []firn.Part, whole bool) {
	left := limit * 4 // UTF-16 units, as the counter counts
	if n := units(r.thought); n > 0 && n <= left/4 {
		parts = append(parts, firn.Thinking{Text: r.thought})
		left -= n
	}
	text := cutUnits(r.text, left)
	if text != "" {
		parts = append(parts, firn.Text{Text: text})
		left -= units(text)
	}
	if text != r.text {
		return parts, false
	}
	for _, call := range r.calls {
		if left -= units(call.Name) + units(string(call.Arguments)); left < 0 {
			return parts, false
		}
		parts = append(parts, call)
	}
	return parts, true
}

// units counts the UTF-16 units of a text.
func units(text string) (n int64) {
	for _, r := range text {
		n += width(r)
	}
	return n
}

func width(r rune) int64 {
	if r > 0xffff {
		return 2
	}
	return 1
}

// cutUnits is the longest prefix of so many UTF-16 units.
func cutUnits(text string, n int64) string {
	for i, r := range text {
		if n -= width(r); n < 0 {
			return text[:i]
		}
	}
	return text
}

// events are what parts are streamed as.
func events(parts []firn.Part) iter.Seq[provider.Event] {
	return func(yield func(provider.Event) bool) {
		for _, part := range parts {
			more := true
			switch p := part.(type) {
			case firn.Thinking:
				more = yield(provider.ThinkingDelta{Text: p.Text})
			case firn.Text:
				for piece := range pieces(p.Text) {
					if more = yield(provider.TextDelta{Text: piece}); !more {
						break
					}
				}
			case firn.ToolCall:
				more = yield(provider.CallDelta{ID: p.ID, Name: p.Name}) &&
					yield(provider.CallDelta{ID: p.ID, Arguments: string(p.Arguments)})
			}
			if !more {
				return
			}
		}
	}
}

// maxPiece bounds a piece of text where there are no spaces, in bytes.
const maxPiece = 48

// pieces cuts a text behind its spaces, never within a rune.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			n := len(text)
			if i := strings.IndexAny(text, " \n"); i >= 0 {
				n = i + 1
			}
			if n > maxPiece {
				for n = maxPiece; !utf8.RuneStart(text[n]); n-- {
				}
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// answer decides what to say.
func answer(req provider.Request, limit int64) reply {
	c := listen(req)
	switch req.Purpose {
	case provider.ForSummary:
		return c.summary(limit)
	case provider.ForTitle:
		return c.title()
	case provider.ForFlush:
		return c.flush()
	}
	return c.turn()
}
