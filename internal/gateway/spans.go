package gateway

import (
	"cmp"
	"context"
	"errors"

	"firn.dev/agent"
	"firn.dev/internal/gateway/trace"
	"firn.dev/provider"
	"firn.dev/wire"
)

// span starts the span of a turn: a child of the first request, linked to the other
// requests of the batch.
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

// failureWord classifies the error of a turn in one word. The error text itself may quote
// messages.
func failureWord(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, ErrStopped):
		return "stopped"
	case errors.Is(err, errRevoked):
		return "revoked"
	case ctx.Err() != nil:
		return "cancelled"
	}
	if kind := provider.KindOf(err); kind != "" {
		return string(kind)
	}
	return string(wire.KindOf(err))
}
