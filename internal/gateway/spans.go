package gateway

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"firn/agent"
	"firn/internal/trace"
	"firn/provider"
	"firn/wire"
)

// span begins the span of a request, which goes on from where the client's
// trace is. What is done for the request is done in it. Who looks after our
// health is not traced.
func (c *call) span() (end func()) {
	t := c.h.config.Tracer
	if t == nil {
		return func() {}
	}
	ctx := trace.With(c.r.Context(), trace.Extract(c.r.Header))
	method := methodLabel(c.r.Method)
	ctx, span := t.Start(ctx, method, trace.Server, trace.String(trace.HTTPMethod, method), trace.String(trace.URLScheme, "http"), trace.String(trace.RequestID, c.request))
	c.r = c.r.WithContext(ctx)
	return func() {
		code := c.w.code()
		if c.op != nil && c.op.scope == "" && code < 500 {
			return
		}
		if c.op != nil {
			span.Rename(method + " " + c.op.path)
			span.Set(trace.String(trace.HTTPRoute, c.op.path))
		}
		span.Set(trace.Int(trace.HTTPStatus, code))
		if code >= 500 {
			span.Fail(strconv.Itoa(code))
		}
		span.End()
	}
}

// span begins the span of a turn: a child of the request that asked for it
// first, linked to those whose messages are answered with it.
func (l *lane) span(ctx context.Context, a *agent.Agent, batch []*ticket) (context.Context, func(wire.Answer, error)) {
	if l.g.Tracer == nil {
		return ctx, func(wire.Answer, error) {}
	}
	name := cmp.Or(a.Name, l.g.setup.Load().Default)
	ctx, span := l.g.Tracer.Start(trace.With(ctx, batch[0].trace), trace.OperationAgent+" "+name, trace.Internal,
		trace.String(trace.OperationName, trace.OperationAgent), trace.String(trace.AgentName, name),
		trace.String(trace.ConversationID, string(l.id)), trace.Int(trace.TurnMessages, len(batch)))
	for _, t := range batch[1:] {
		span.Link(t.trace)
	}
	if by := batch[0].By; by != "" {
		span.Set(trace.String(trace.TurnBy, by))
	}
	return ctx, func(answer wire.Answer, err error) {
		if err != nil {
			span.Fail(failureWord(ctx, err))
		} else {
			span.Set(trace.Int(trace.TurnRounds, answer.Rounds), trace.Int(trace.TurnCalls, answer.Calls), trace.Strings(trace.FinishReasons, answer.Stop),
				trace.Int(trace.InputTokens, answer.Usage.Input+answer.Usage.CacheRead+answer.Usage.CacheWrite), trace.Int(trace.OutputTokens, answer.Usage.Output))
		}
		span.End()
	}
}

// failureWord is how a turn failed, in a word of ours: what an error says may
// repeat what somebody said.
func failureWord(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, ErrStopped):
		return "stopped"
	case ctx.Err() != nil:
		return "cancelled"
	}
	if kind := provider.KindOf(err); kind != "" {
		return string(kind)
	}
	return string(wire.KindOf(err))
}
