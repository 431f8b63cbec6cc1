package serve

import (
	"cmp"
	"context"

	"firn.dev/agent"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/gateway/trace"
)

// openTracer enables tracing if the environment requests it and the settings allow it.
// Read-only commands are not traced: they end too soon.
func (h *Instance) openTracer() {
	t := h.o.Settings.Telemetry
	if t.Traces == "off" || h.o.ReadOnly {
		return
	}
	s, wanted, err := trace.FromEnv(h.o.Env)
	if err != nil {
		h.o.Report("tracing is disabled: " + err.Error())
		return
	}
	if !wanted {
		return
	}
	s.Service, s.Version, s.Report = cmp.Or(s.Service, t.Service), h.o.Version, h.o.Report
	h.tracer = trace.New(s)
	if h.counts != nil {
		h.counts.GaugeFunc("firn_spans_sent", "Spans sent to the collector.", func() float64 { sent, _ := h.tracer.Counts(); return float64(sent) })
		h.counts.GaugeFunc("firn_spans_dropped", "Spans that failed to be sent.", func() float64 { _, dropped := h.tracer.Counts(); return float64(dropped) })
	}
}

// callName matches call IDs that are safe to record. Models choose these IDs, so others are
// omitted.
var callName = pattern.New(`^[A-Za-z0-9_.:-]{1,64}$`)

// around returns the function that traces the steps of turns.
func (h *Instance) around() func(context.Context, agent.Run, agent.Step) (context.Context, func(string)) {
	if h.tracer == nil {
		return nil
	}
	return func(ctx context.Context, run agent.Run, s agent.Step) (context.Context, func(string)) {
		conversation := trace.String(trace.ConversationID, string(run.Session))
		var span *trace.Span
		switch s.Kind {
		case agent.StepTool:
			ctx, span = h.tracer.Start(ctx, trace.OperationTool+" "+s.Name, trace.Internal, conversation,
				trace.String(trace.OperationName, trace.OperationTool), trace.String(trace.ToolName, s.Name), trace.String(trace.ToolType, "function"))
			if callName().MatchString(s.Call) {
				span.Set(trace.String(trace.ToolCallID, s.Call))
			}
		default:
			ctx, span = h.tracer.Start(ctx, string(s.Kind), trace.Internal, conversation, trace.String(trace.CompactionReason, s.Name))
		}
		return ctx, func(failure string) {
			if failure != "" {
				span.Fail(failure)
			}
			span.End()
		}
	}
}
