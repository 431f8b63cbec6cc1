// Package offline provides firn's built-in model, which needs neither a network nor an API
// key.
//
// It matches words. It can call tools when asked for the time, a calculation, a file, a
// search or a note; quote earlier statements from the conversation, a summary or recalled
// notes; and summarize a conversation by extracting sentences. For everything else it
// answers that it does not understand.
//
// It is deterministic: the same request gives the same events. It does no I/O and does not
// read the clock.
package offline

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// The sizes of the model, in tokens.
const (
	usualWindow = 32_000
	maxOutput   = 4096
)

// Options configures the model. The zero value has a window of 32,000 tokens and no delay.
type Options struct {
	// Window is the context window in tokens; zero means 32,000. A small window is useful
	// to try compaction.
	Window int64
	// Delay is the pause before each piece of an answer.
	Delay time.Duration
}

// Model is the offline model.
type Model struct {
	info  provider.Info
	delay time.Duration
}

// New returns an offline model.
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

// Info returns the model's info.
func (m *Model) Info() provider.Info { return m.info }

// CountTokens counts a request by its characters, as the model itself does.
func (m *Model) CountTokens(_ context.Context, req provider.Request) (int64, error) {
	return req.Tokens(window.Chars{}), nil
}

// Stream answers a request word by word. The message has no time, because the model does
// not read the clock.
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if ctx.Err() != nil {
			yield(nil, m.canceledError(ctx))
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
				yield(nil, m.canceledError(ctx))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
		yield(provider.Done{Message: message}, nil)
	}
}

// limit returns the maximum number of tokens of an answer.
func (m *Model) limit(req provider.Request, input int64) int64 {
	limit := min(m.info.MaxOutput, m.info.Window-input)
	if req.MaxTokens > 0 {
		limit = min(limit, req.MaxTokens)
	}
	return limit
}

// pause waits before a piece. It returns false if the context is done.
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

// canceledError returns the error for a request that the caller's context ended.
func (m *Model) canceledError(ctx context.Context) error {
	return fmt.Errorf("%s/%s: %w", m.info.Provider, m.info.Name, context.Cause(ctx))
}

// message returns the complete answer, truncated to limit.
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

// reply is an answer before truncation and streaming.
type reply struct {
	// thought is the thinking text of the answer.
	thought string
	text    string
	calls   []firn.ToolCall
}

// parts returns the parts that fit into limit tokens: a prefix of the text, and complete
// calls. The thought is dropped first. Whole reports whether nothing was truncated.
func (r reply) parts(limit int64) (parts []firn.Part, whole bool) {
	left := limit * 4 // UTF-16 units, as counted by the token counter
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

// cutUnits returns the longest prefix of at most n UTF-16 units.
func cutUnits(text string, n int64) string {
	for i, r := range text {
		if n -= width(r); n < 0 {
			return text[:i]
		}
	}
	return text
}

// events returns the events that stream the parts.
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

// maxPiece limits a piece of text without spaces, in bytes.
const maxPiece = 48

// pieces splits a text after its spaces, never within a rune.
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

// answer selects the reply to a request.
func answer(req provider.Request, limit int64) reply {
	c := parseRequest(req)
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
