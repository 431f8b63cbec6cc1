package metrics

import (
	"context"
	"errors"
	"iter"
	"time"

	"firn.dev/provider"
)

// Model returns a model that records its answers: tokens, cost, duration and failures.
func (s *Set) Model(m provider.Model) provider.Model {
	if s == nil || m == nil {
		return m
	}
	return provider.Wrap(m, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return s.counted(ctx, m, req)
	})
}

// counted calls the model and records its events.
func (s *Set) counted(ctx context.Context, m provider.Model, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		info, begun := m.Info(), time.Now()
		for e, err := range m.Stream(ctx, req) {
			if err != nil {
				s.modelErrors.Add(1, info.Provider, info.Name, failure(ctx, err))
			}
			if done, ok := e.(provider.Done); ok && err == nil {
				s.answer.Observe(time.Since(begun).Seconds(), info.Provider, info.Name)
				if u := done.Message.Usage; u != nil {
					s.Usage(info.Provider, info.Name, *u)
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// failure returns the kind of a failed answer as a label.
func failure(ctx context.Context, err error) string {
	var e *provider.Error
	if errors.As(err, &e) {
		return string(e.Kind)
	}
	return outcome(ctx, err)
}
