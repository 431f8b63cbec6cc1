package jetstream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev"
)

// SessionOf returns the session with the fault, or an empty ID if there is none.
func (st *Store) SessionOf(f Fault) firn.ID {
	if !strings.HasPrefix(f.Subject, st.names.space+".s.") {
		return ""
	}
	return st.names.sessionOf(f.Subject)
}

// describe returns the description of a fault with its session.
func (st *Store) describe(f Fault) string {
	if id := st.SessionOf(f); id != "" {
		return fmt.Sprintf("session %s: %v", id, f)
	}
	return f.String()
}

// CheckReplicas reads every message of all streams from every server and returns the
// messages that are missing or damaged on some servers but not on others: one fault per
// subject and stream. A server that does not respond is a fault too. A store on a single
// server has nothing to compare.
func (st *Store) CheckReplicas(ctx context.Context) ([]Fault, error) {
	if err := st.beginOperation(ctx); err != nil {
		return nil, err
	}
	defer st.working.Done()
	if !st.engine.clustered() {
		return nil, nil
	}
	streams, err := st.streams(ctx)
	if err != nil {
		return nil, st.failed(ctx, fmt.Errorf("check the replicas: %w", err))
	}
	var mu sync.Mutex
	found := make(map[string][]Fault)
	var tasks []func() error
	for _, stream := range streams {
		tasks = append(tasks, func() error {
			faults, err := st.engine.checkStream(ctx, stream)
			mu.Lock()
			defer mu.Unlock()
			found[stream] = faults
			return err
		})
	}
	if err := runParallel(tasks); err != nil {
		return nil, st.failed(ctx, fmt.Errorf("check the replicas: %w", err))
	}
	var all []Fault
	for _, stream := range streams {
		all = append(all, found[stream]...)
	}
	return all, nil
}

// streams lists the streams of the store.
func (st *Store) streams(ctx context.Context) ([]string, error) {
	var all []string
	err := st.engine.retry(ctx, func(ctx context.Context) error {
		all = nil
		names := st.engine.js.StreamNames(ctx)
		for name := range names.Name() {
			plain := strings.TrimPrefix(strings.TrimPrefix(name, "KV_"), "OBJ_")
			if strings.HasPrefix(plain, st.names.space+"_") {
				all = append(all, name)
			}
		}
		return names.Err()
	})
	slices.Sort(all)
	return all, err
}

// checkStream compares the replicas of a stream.
func (e *engine) checkStream(ctx context.Context, stream string) ([]Fault, error) {
	last, err := e.lastSeq(ctx, stream)
	if err != nil {
		return nil, err
	}
	present, all, err := e.present(ctx, stream)
	if err != nil {
		return nil, err
	}
	w := &sweep{e: e, stream: stream, subject: ">", most: maxCheckRequests, enough: func(p *poll) bool {
		return p.majority() && !slices.ContainsFunc(present, func(server string) bool { _, asked := p.replies[server]; return !asked })
	}}
	c := check{e: e, w: w, stream: stream, present: present, faults: make(map[string]*Fault), sure: make(map[string]bool), unasked: make(map[string]bool)}
	if _, err = w.run(ctx, 1, last, func(held []holding) (uint64, error) {
		c.take(ctx, held)
		return 0, nil
	}); err != nil {
		return nil, err
	}
	for _, server := range slices.Sorted(maps.Keys(c.unasked)) {
		if c.unasked[server] && !c.sure[server] {
			all = append(all, Fault{Server: server, Stream: stream, Unasked: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.faults)) {
		all = append(all, *c.faults[name])
	}
	return all, nil
}

// check is a comparison of the replicas of a stream.
type check struct {
	e      *engine
	w      *sweep
	stream string
	// present are the servers that respond.
	present []string
	// faults are by server and subject; sure are servers that certainly lack messages, and
	// unasked those that stopped responding.
	faults        map[string]*Fault
	sure, unasked map[string]bool
}

// take records the servers that lack some of the messages.
func (c *check) take(ctx context.Context, held []holding) {
	for _, h := range held {
		if len(h.without) > len(c.present)/2 { // a damaged server may still have messages that were removed
			c.noteExtra(ctx, h)
			continue
		}
		for _, server := range slices.Concat(h.without, h.differs) {
			c.note(ctx, server, h, slices.Contains(h.without, server))
		}
		for server := range c.w.silent { // a damaged server may not respond to requests for many messages
			if !c.sure[server] && slices.Contains(c.present, server) {
				c.note(ctx, server, h, true)
			}
		}
	}
}

// note adds a fault for a message that a server certainly lacks. A server that does not
// respond is not asked again.
func (c *check) note(ctx context.Context, server string, h holding, missing bool) {
	if !c.sure[server] && !c.unasked[server] {
		state := c.e.replicaOf(ctx, c.stream, server, h.m)
		c.sure[server], c.unasked[server] = state == lacksMessage, state == noResponse
	}
	if !c.sure[server] {
		return
	}
	name := server + " " + h.m.subject
	if c.faults[name] == nil {
		c.faults[name] = &Fault{Server: server, Stream: c.stream, Subject: h.m.subject, Seq: h.m.seq}
	}
	if missing {
		c.faults[name].Missing++
	} else {
		c.faults[name].Wrong++
	}
}

// noteExtra adds a fault for a message that only a minority of servers has.
func (c *check) noteExtra(ctx context.Context, h holding) {
	for _, server := range h.without {
		if c.e.replicaOf(ctx, c.stream, server, h.m) != lacksMessage {
			return // it lagged
		}
	}
	for _, server := range c.present {
		if slices.Contains(h.without, server) {
			continue
		}
		name := server + " " + h.m.subject
		if c.faults[name] == nil {
			c.faults[name] = &Fault{Server: server, Stream: c.stream, Subject: h.m.subject, Seq: h.m.seq}
		}
		c.faults[name].Extra++
	}
}

// replicaState is what a server answers when asked for a message that others have.
type replicaState int

const (
	noResponse replicaState = iota
	hasMessage
	// lacksMessage means that it lacks the message or has a different one, and does not
	// merely lag.
	lacksMessage
)

// replicaOf asks a server for a message that other servers have.
func (e *engine) replicaOf(ctx context.Context, stream, server string, want *message) replicaState {
	silent := 0
	for try := range 3 {
		if try > 0 && sleepContext(ctx, confirmPause) != nil {
			return noResponse
		}
		p, err := e.poll(ctx, stream, getRequest{Seq: want.seq})
		if err != nil {
			silent++
			continue
		}
		p.most = maxCheckRequests
		p.until(func() bool { _, asked := p.replies[server]; return asked })
		p.close()
		r, asked := p.replies[server]
		if !asked || r.silent {
			silent++
			continue
		}
		if m := r.first(); m != nil && same(m, want) {
			return hasMessage
		}
	}
	if silent > 0 { // it may have caught up meanwhile
		return noResponse
	}
	m, err := e.pick(ctx, stream, getRequest{Seq: want.seq}, nil)
	switch {
	case err != nil:
		return noResponse
	case m == nil: // it was removed in the meantime
		return hasMessage
	}
	return lacksMessage
}

// present returns the servers whose replica of a stream responds, and a fault for each of
// the others. It waits some seconds, because a replica starts to respond only some time
// after it has caught up.
func (e *engine) present(ctx context.Context, stream string) (there []string, faults []Fault, err error) {
	for try := 0; ; try++ {
		if there, faults, err = e.presentNow(ctx, stream); err != nil || len(faults) == 0 || try == 3 {
			return there, faults, err
		}
		if err := sleepContext(ctx, presentPause); err != nil {
			return nil, nil, err
		}
	}
}

// presentPause is the time after which a server that did not respond is asked again.
const presentPause = 2 * time.Second

func (e *engine) presentNow(ctx context.Context, stream string) ([]string, []Fault, error) {
	e.places.forget(stream)
	if err := e.retry(ctx, func(ctx context.Context) error {
		_, err := e.placement(ctx, stream)
		return err
	}); err != nil {
		return nil, nil, err
	}
	p, err := e.poll(ctx, stream, getRequest{LastFor: ">"})
	if err != nil {
		return nil, nil, err
	}
	defer p.close()
	p.most = maxCheckRequests
	p.until(func() bool { return p.answered() == len(p.place.names) })
	var there []string
	var faults []Fault
	for _, server := range p.place.names {
		if r, asked := p.replies[server]; asked && !r.silent {
			there = append(there, server)
		} else {
			faults = append(faults, Fault{Server: server, Stream: stream, Unasked: true})
		}
	}
	return there, faults, nil
}
