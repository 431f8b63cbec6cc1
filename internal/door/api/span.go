package api

import (
	"strconv"

	"firn.dev/internal/gateway/trace"
)

// span starts the span of a request as a child of the client's trace. Health checks are not
// traced.
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
