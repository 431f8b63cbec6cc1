package metrics

import (
	"context"
	"errors"
	"iter"
	"time"

	"firn/provider"
)

// Model returns the model with its answers counted: their tokens, what they
// cost, how long they took, how they failed.
func (s *Set) Model(m provider.Model) provider.Model {
	if s == nil || m == nil {
		return m
	}
	c := countedModel{m, s}
	if counter, ok := m.(provider.Counter); ok {
		return struct {
			countedModel
			provider.Counter
		}{c, counter}
	}
	return c
}

// countedModel is a model whose answers are counted.
type countedModel struct {
	provider.Model
	set *Set
}

// Stream implements [provider.Model].
func (c countedModel) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		info, begun := c.Info(), time.Now()
		for e, err := range c.Model.Stream(ctx, req) {
			if err != nil {
				c.set.modelErrors.Add(1, info.Provider, info.Name, failure(ctx, err))
			}
			if done, ok := e.(provider.Done); ok && err == nil {
				c.set.answer.Observe(time.Since(begun).Seconds(), info.Provider, info.Name)
				if u := done.Message.Usage; u != nil {
					c.set.Usage(info.Provider, info.Name, *u)
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// failure is the kind of a failed answer, in a word.
func failure(ctx context.Context, err error) string {
	var e *provider.Error
	if errors.As(err, &e) {
		return string(e.Kind)
	}
	return outcome(ctx, err)
}
