package jetstream

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A direct get is answered by a replica that the servers choose at random, and the
// answer does not say which. But a request can ask to be traced: then each server
// that it passes reports where it went. So a request that is repeated reaches each
// replica, and it is known when it has.

// headTrace is the header that asks for it.
const headTrace = "Nats-Trace-Dest"

const (
	// peerWait is how long a replica may take to answer a request for one message
	// when there are others.
	peerWait = 2 * time.Second
	// traceWait is how much later than the answer its trace may come.
	traceWait = time.Second
)

// tracer receives the traces of requests.
type tracer struct {
	sub    *nats.Subscription
	prefix string

	mu      sync.Mutex
	waiting map[string]chan string
}

// newTracer listens for traces.
func newTracer(nc *nats.Conn) (*tracer, error) {
	t := &tracer{prefix: nc.NewInbox() + ".", waiting: make(map[string]chan string)}
	sub, err := nc.Subscribe(t.prefix+"*", t.take)
	if err != nil {
		return nil, err
	}
	t.sub = sub
	return t, sub.SetPendingLimits(-1, -1)
}

func (t *tracer) take(m *nats.Msg) {
	server := lastStop(m.Data)
	if server == "" {
		return
	}
	t.mu.Lock()
	waits := t.waiting[strings.TrimPrefix(m.Subject, t.prefix)]
	t.mu.Unlock()
	if waits != nil {
		select {
		case waits <- server:
		default: // it was told
		}
	}
}

// follow returns the subject for the trace of a request and a channel that gets the
// server at which the request ended. Done must be called.
func (t *tracer) follow() (subject string, server <-chan string, done func()) {
	name, waits := nonce(), make(chan string, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[name] = waits
	return t.prefix + name, waits, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting, name)
	}
}

// reply is what a replica answered to a traced request.
type reply struct {
	// server is empty if it is not known who was asked.
	server   string
	messages []*message
	// silent says that the server did not answer.
	silent bool
}

// first is the only message of a reply; nil if there is none.
func (r *reply) first() *message {
	if len(r.messages) == 0 {
		return nil
	}
	return r.messages[0]
}

// traced asks some replica for messages, and returns which server was asked.
func (e *engine) traced(ctx context.Context, stream string, req getRequest) reply {
	subject, server, done := e.tracer.follow()
	defer done()
	patience := peerWait
	if req.Batch > 0 {
		patience = attempt
	}
	once, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	messages, err := direct(once, e.nc, stream, req, subject)
	r := reply{messages: messages, silent: err != nil}
	if ctx.Err() != nil {
		return reply{silent: true}
	}
	late, cancel := context.WithTimeout(ctx, traceWait)
	defer cancel()
	select {
	case r.server = <-server:
	case <-late.Done():
	}
	return r
}

// The kinds of connections over which a message goes on to another server.
const (
	overRoute   = 1
	overGateway = 2
	overLeaf    = 4
)

// lastStop returns the server that a trace is from if the message went no
// further than there.
func lastStop(data []byte) string {
	var event struct {
		Server struct {
			Name string `json:"name"`
		} `json:"server"`
		Events []struct {
			Type string `json:"type"`
			Kind int    `json:"kind"`
		} `json:"events"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return ""
	}
	for _, step := range event.Events { // that it is answered here is not told, only that it goes on
		if step.Type == "eg" && (step.Kind == overRoute || step.Kind == overGateway || step.Kind == overLeaf) {
			return ""
		}
	}
	return event.Server.Name
}
