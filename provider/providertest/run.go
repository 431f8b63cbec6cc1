package providertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/provider"
	"firn.dev/window"
)

// Run checks that the models returned by open satisfy the contract of [provider.Model],
// except for the given lacks.
func Run(t *testing.T, open Open, lacks ...Lack) {
	groups := []struct {
		name  string
		tests []test
	}{
		{"Answer", answerTests()},
		{"End", endTests()},
		{"Refuse", refuseTests()},
		{"Window", windowTests()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, test := range g.tests {
				if slices.ContainsFunc(test.needs, func(l Lack) bool { return slices.Contains(lacks, l) }) {
					continue
				}
				t.Run(test.name, func(t *testing.T) { test.run(newSuite(t, open, lacks)) })
			}
		})
	}
}

// test is one rule of the contract, with the lacks that exempt a model from it.
type test struct {
	name  string
	run   func(s *suite)
	needs []Lack
}

// suite holds the model under test, with helpers.
type suite struct {
	*testing.T
	ctx   context.Context
	model provider.Model
	play  *Play
	lacks []Lack
}

// patience is the timeout for events that must arrive. Only failing tests reach it.
const patience = basetest.Limit

func newSuite(t *testing.T, open Open, lacks []Lack) *suite {
	before := goroutines()
	t.Cleanup(func() { checkGoroutines(t, before) }) // runs after all other cleanups
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	play := &Play{}
	s := &suite{T: t, ctx: ctx, play: play, lacks: lacks}
	s.model = open(t, play)
	return s
}

func (s *suite) can(l Lack) bool { return !slices.Contains(s.lacks, l) }

// request returns a small request.
func (s *suite) request(text string) provider.Request {
	path := window.Path{Entries: []firn.Entry{firn.UserText(text)}}
	return provider.Request{Window: s.build(path, "You are being tested."), Tools: tools(), MaxTokens: 1000}
}

// build builds a window for the model.
func (s *suite) build(path window.Path, system string) window.Window {
	info := s.model.Info()
	return window.Build(path, window.Options{System: system, Profile: info.Profile, Ask: info.Ask()})
}

func tools() []provider.Tool {
	return []provider.Tool{
		{Name: "read", Description: "Reads a file.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "now", Description: "Tells the time.", Schema: []byte(`{"type":"object","properties":{}}`)},
	}
}

// outcome is the result of a request.
type outcome struct {
	deltas []provider.Event
	// done is nil if the request failed.
	done *firn.Message
	err  error
}

// ask sends a request and checks the rules that apply to every stream.
func (s *suite) ask(ctx context.Context, req provider.Request) outcome {
	s.Helper()
	return s.drain(ctx, req, nil)
}

// drain reads a stream to its end. It calls seen after each delta.
func (s *suite) drain(ctx context.Context, req provider.Request, seen func()) outcome {
	s.Helper()
	var o outcome
	ended := false
	for event, err := range s.model.Stream(ctx, req) {
		if ended {
			s.Fatalf("something comes after the end: %#v, %v", event, err)
		}
		switch e := event.(type) {
		case provider.Done:
			o.done, ended = &e.Message, true
			if err != nil {
				s.Errorf("Done comes with an error: %v", err)
			}
			continue
		case provider.TextDelta, provider.ThinkingDelta, provider.CallDelta:
			if err != nil {
				s.Errorf("%#v comes with an error: %v", e, err)
			}
			o.deltas = append(o.deltas, e)
		default:
			if event != nil || err == nil {
				s.Fatalf("%#v is not for a model to send", event)
			}
		}
		if err != nil {
			o.err, ended = err, true
		} else if seen != nil {
			seen()
		}
	}
	if !ended {
		s.Fatalf("the stream ended with neither Done nor an error, after %d deltas", len(o.deltas))
	}
	s.check(o)
	return o
}

// check checks the rules that apply to every outcome.
func (s *suite) check(o outcome) {
	s.Helper()
	if o.err != nil {
		s.checkError(o)
		return
	}
	info, m := s.model.Info(), o.done
	if m.Role != firn.RoleAssistant {
		s.Errorf("the answer is of role %q", m.Role)
	}
	if m.API != info.API || m.Provider != info.Provider || m.Model != info.Name {
		s.Errorf("the answer is marked %s/%s/%s, the model is %s/%s/%s", m.API, m.Provider, m.Model, info.API, info.Provider, info.Name)
	}
	if !slices.Contains([]firn.StopReason{firn.StopEnd, firn.StopLength, firn.StopToolUse}, m.StopReason) {
		s.Errorf("the answer stopped for %q", m.StopReason)
	}
	if m.Error != "" {
		s.Errorf("the answer is Done and has an error: %s", m.Error)
	}
	if reported, whole := deltaPieces(o.deltas), partPieces(m.Parts); !slices.Equal(reported, whole) {
		s.Errorf("the deltas say\n%.500q\nthe message is\n%.500q", reported, whole)
	}
	for _, p := range m.Parts {
		if call, ok := p.(firn.ToolCall); ok && !isObject(call.Arguments) {
			s.Errorf("the arguments of %s are not an object: %q", call.Name, call.Arguments)
		}
	}
	if m.Usage != nil && m.Usage.Cost != info.Price.Cost(*m.Usage) {
		s.Errorf("the cost is %+v, want %+v", m.Usage.Cost, info.Price.Cost(*m.Usage))
	}
}

// checkError checks the rules that apply to every error.
func (s *suite) checkError(o outcome) {
	s.Helper()
	if strings.Contains(o.err.Error(), Key) {
		s.Errorf("the error contains the key: %v", o.err)
	}
	var e *provider.Error
	if !errors.As(o.err, &e) {
		return
	}
	info := s.model.Info()
	if e.Provider != info.Provider || e.Model != info.Name {
		s.Errorf("the error is marked %s/%s, the model is %s/%s", e.Provider, e.Model, info.Provider, info.Name)
	}
	if e.Kind == "" {
		s.Errorf("the error has no kind: %v", e)
	}
	if len(o.deltas) > 0 && !e.Partial {
		s.Errorf("the error does not report that part of the answer was received: %v", e)
	}
}

// mustAnswer sends a request and requires a complete answer.
func (s *suite) mustAnswer(req provider.Request) outcome {
	s.Helper()
	o := s.ask(s.ctx, req)
	if o.err != nil {
		s.Fatalf("no answer: %v", o.err)
	}
	return o
}
