package trace

import (
	"context"
	"errors"
	"iter"

	"firn.dev"
	"firn.dev/provider"
)

// Model returns a model that records a span for each call.
func (t *Tracer) Model(m provider.Model) provider.Model {
	if t == nil || m == nil {
		return m
	}
	return provider.Wrap(m, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return t.traced(ctx, m, req)
	})
}

// traced calls the model within a span.
func (t *Tracer) traced(ctx context.Context, m provider.Model, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		info := m.Info()
		ctx, span := t.Start(ctx, OperationChat+" "+info.Name, Client,
			String(OperationName, OperationChat), String(ProviderName, providerName(info.Provider)), String(RequestModel, info.Name))
		defer span.End()
		if req.Session != "" {
			span.Set(String(ConversationID, string(req.Session)))
		}
		if req.MaxTokens > 0 {
			span.Set(Int(RequestTokens, req.MaxTokens))
		}
		if req.Purpose != provider.ForTurn {
			span.Set(String(Purpose, string(req.Purpose)))
		}
		whole := false
		for e, err := range m.Stream(ctx, req) {
			if err != nil {
				span.Fail(failure(ctx, err))
			}
			if done, ok := e.(provider.Done); ok && err == nil {
				whole = true
				span.Set(answer(&done.Message)...)
			}
			if !yield(e, err) {
				if err == nil && !whole {
					span.Fail("cancelled") // the caller stopped reading
				}
				return
			}
		}
	}
}

// answer returns the attributes of an answer. The input includes tokens from the provider's
// cache, as the conventions require.
func answer(m *firn.Message) []Attribute {
	all := []Attribute{String(ResponseModel, m.Model), Strings(FinishReasons, string(m.StopReason))}
	if u := m.Usage; u != nil {
		all = append(all, Usage(*u)...)
	}
	return all
}

// Usage returns the attributes of a token usage.
func Usage(u firn.Usage) []Attribute {
	all := []Attribute{Int(InputTokens, u.Input+u.CacheRead+u.CacheWrite), Int(OutputTokens, u.Output)}
	if u.CacheRead > 0 {
		all = append(all, Int(CacheRead, u.CacheRead))
	}
	if u.CacheWrite > 0 {
		all = append(all, Int(CacheCreation, u.CacheWrite))
	}
	return all
}

// failure returns the kind of a failed answer as a single word.
func failure(ctx context.Context, err error) string {
	var e *provider.Error
	switch {
	case ctx.Err() != nil:
		return "cancelled"
	case errors.As(err, &e):
		return string(e.Kind)
	}
	return "failed"
}
