package api

import (
	"time"

	"firn.dev/internal/gateway/metrics"
	"firn.dev/wire"
)

func (c statusCalls) ops() (wire.Ops, error) {
	if c.who.bound() {
		return wire.Ops{}, boundTo("reading statistics of the gateway")
	}
	out, err := c.gateway.Ops(c.r.Context())
	if err != nil {
		return out, err
	}
	out.Status.TCP = tcpOf(c.r.Context())
	out.Append, out.Sync = latency(c.h.config.Metrics.Appends()), latency(c.h.config.Metrics.Syncs())
	switch err := c.h.ready.ask(c.r.Context(), c.h.config.Ready); {
	case c.h.draining():
		out.Why = "the gateway is shutting down"
	case err != nil:
		out.Why = err.Error()
	default:
		out.Ready = true
	}
	return out, nil
}

// latency converts latencies to the wire format, in milliseconds.
func latency(l metrics.Latency) wire.Latency {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return wire.Latency{Count: l.Count, P50: ms(l.P50), P99: ms(l.P99), Max: ms(l.Max)}
}
