package scripted

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// Model plays a script. It is safe for concurrent use: each request takes the next step, in
// order of arrival.
type Model struct {
	info provider.Info
	// play answers requests. If it is nil, the steps are played.
	play func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error]

	mu       sync.Mutex
	steps    []Step
	requests []provider.Request
}

// Info returns the default info of a scripted model: a window of 200,000 tokens and the
// rules of Anthropic's API.
func Info() provider.Info {
	return provider.Info{
		Provider: "scripted", API: "scripted", Name: "scripted",
		Spec:    provider.Spec{Window: provider.AssumedWindow, MaxOutput: 8192, Thinks: true, Sees: true},
		Profile: window.Anthropic(),
	}
}

// New returns a model that plays steps, one per request. Empty fields of info are filled in
// from [Info]. A request after the last step is rejected, so that a runaway loop is
// noticed; use [Forever] to avoid this.
func New(info provider.Info, steps ...Step) *Model {
	return &Model{info: fillInfo(info), steps: slices.Clone(steps)}
}

// Func returns a model that answers each request with f and records the requests.
func Func(info provider.Info, f func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error]) *Model {
	return &Model{info: fillInfo(info), play: f}
}

// fillInfo fills in the empty fields of an info.
func fillInfo(info provider.Info) provider.Info {
	usual := Info()
	if info.Provider == "" {
		info.Provider = usual.Provider
	}
	if info.API == "" {
		info.API = usual.API
	}
	if info.Name == "" {
		info.Name = usual.Name
	}
	if info.Spec == (provider.Spec{}) {
		info.Spec = usual.Spec
	}
	if info.Window == 0 {
		info.Window = usual.Window
	}
	if info.Profile.Name == "" && len(info.Profile.Rules) == 0 {
		info.Profile = usual.Profile
	}
	return info
}

// Info returns the model's info.
func (m *Model) Info() provider.Info { return m.info }

// Requests returns all requests so far, in order. They share memory with the originals.
func (m *Model) Requests() []provider.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Left returns the number of steps that have not started. A step that is played forever
// always counts.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.steps)
}

// Stream plays the next step.
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		step, ok := m.nextStep(req)
		switch {
		case m.play != nil:
			for event, err := range m.play(ctx, req) {
				if !yield(event, err) {
					return
				}
			}
		case !ok:
			yield(nil, m.refusal(provider.BadRequest, "the script is over"))
		default:
			m.Play(ctx, req, step)(yield)
		}
	}
}

// nextStep records a request and removes the next step from the script.
func (m *Model) nextStep(req provider.Request) (Step, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	if len(m.steps) == 0 {
		return Step{}, false
	}
	step := m.steps[0]
	if !step.Forever {
		m.steps = m.steps[1:]
	}
	return step, true
}

// Play answers a request with a step that is not part of the script. It is meant for
// functions passed to [Func].
func (m *Model) Play(ctx context.Context, req provider.Request, s Step) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if err := m.beforeEvents(ctx, req, s); err != nil {
			yield(nil, err)
			return
		}
		events := s.events()
		sent := len(events)
		if s.End != Complete {
			sent = min(max(s.After, 0), sent)
		}
		for _, event := range events[:sent] {
			if err := pause(ctx, s.Delay); err != nil {
				yield(nil, m.canceledError(err))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
		m.afterEvents(ctx, req, s, sent, yield)
	}
}

// beforeEvents does everything that precedes the first event.
func (m *Model) beforeEvents(ctx context.Context, req provider.Request, s Step) error {
	if s.Before != nil {
		if err := s.Before(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return m.canceledError(context.Cause(ctx))
	}
	limit := s.OverflowAt
	if limit <= 0 {
		limit = m.info.Window
	}
	if n := req.Tokens(window.Chars{}); n > limit {
		return m.refusal(provider.Overflow, fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, limit))
	}
	return nil
}

// afterEvents does everything that follows the last event.
func (m *Model) afterEvents(ctx context.Context, req provider.Request, s Step, sent int, yield func(provider.Event, error) bool) {
	switch s.End {
	case Silent:
		return
	case Failed:
		if s.Err == nil {
			s.Err = m.refusal(provider.BadRequest, "the script says so")
		}
		yield(nil, s.Err)
		return
	case Broken:
		yield(nil, &provider.Error{
			Kind: provider.Temporary, Provider: m.info.Provider, Model: m.info.Name, Partial: true, Err: io.ErrUnexpectedEOF,
		})
		return
	case Hung:
		<-ctx.Done()
		yield(nil, m.canceledError(context.Cause(ctx)))
		return
	}
	if err := pause(ctx, s.Delay); err != nil {
		yield(nil, m.canceledError(err))
		return
	}
	yield(provider.Done{Message: m.message(req, s)}, nil)
}

// message returns the complete answer.
func (m *Model) message(req provider.Request, s Step) firn.Message {
	message := firn.Message{
		Role: firn.RoleAssistant, Parts: s.parts(), Time: time.Now().UTC().Truncate(time.Millisecond),
		API: m.info.API, Provider: m.info.Provider, Model: m.info.Name,
		StopReason: s.Stop,
	}
	if message.StopReason == "" {
		message.StopReason = firn.StopEnd
		if slices.ContainsFunc(message.Parts, isCall) {
			message.StopReason = firn.StopToolUse
		}
	}
	usage := firn.Usage{Input: req.Tokens(window.Chars{}), Output: window.Chars{}.CountMessage(&message)}
	if s.Usage != nil {
		usage = *s.Usage
	}
	if usage.Total == 0 {
		usage.Total = usage.Context()
	}
	if usage.Cost == (firn.Cost{}) {
		usage.Cost = m.info.Price.Cost(usage)
	}
	message.Usage = &usage
	return message
}

func isCall(p firn.Part) bool {
	_, ok := p.(firn.ToolCall)
	return ok
}

func (m *Model) refusal(kind provider.Kind, message string) error {
	return &provider.Error{Kind: kind, Provider: m.info.Provider, Model: m.info.Name, Message: message}
}

// canceledError returns the error for a request that the caller's context ended.
func (m *Model) canceledError(cause error) error {
	return fmt.Errorf("%s/%s: %w", m.info.Provider, m.info.Name, cause)
}

// pause waits for d or until the context is done.
func pause(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
