package jetstream

import (
	"context"
	"slices"
)

// A server with a damaged file reports a message as missing, or returns an older one, even
// if it is the leader. So the leader is trusted for the messages that it has, but a message
// is treated as missing only if a majority of replicas lacks it. A message that any replica
// has is committed: followers store nothing else.

// poll sends the same request to the replicas of a stream until enough of them have
// responded.
type poll struct {
	e      *engine
	stream string
	req    getRequest
	place  placement
	// replies are by server; those of servers that did not respond are silent.
	replies map[string]reply
	// loose are replies from unknown servers.
	loose []reply
	// came receives the replies. asked counts the requests, open those without a reply;
	// most is the maximum number of requests.
	came              chan reply
	asked, open, most int
	life              context.Context
	close             context.CancelFunc
}

const (
	// maxConcurrent is the number of concurrent requests. The servers choose the replica
	// that responds, so several may reach the same one.
	maxConcurrent = 4
	// maxRequests is the maximum number of requests: with three replicas, all are reached
	// except in one of 1,500 cases. Checking replicas uses more.
	maxRequests, maxCheckRequests = 18, 80
)

// poll starts polling; close must be called.
func (e *engine) poll(ctx context.Context, stream string, req getRequest) (*poll, error) {
	place, err := e.placement(ctx, stream)
	if err != nil && len(place.names) == 0 {
		return nil, err
	}
	p := &poll{e: e, stream: stream, req: req, place: place, replies: make(map[string]reply), most: maxRequests, came: make(chan reply, maxCheckRequests)}
	p.life, p.close = context.WithCancel(ctx)
	return p, nil
}

// until sends requests until done returns true or further requests are pointless.
func (p *poll) until(done func() bool) {
	for !done() {
		for ; p.open < maxConcurrent && p.asked < p.most; p.open++ {
			p.asked++
			go func() { p.came <- p.e.traced(p.life, p.stream, p.req) }()
		}
		if p.open == 0 {
			return
		}
		select {
		case r := <-p.came:
			p.open--
			p.take(r)
		case <-p.life.Done():
			return
		}
	}
}

func (p *poll) take(r reply) {
	if r.server == "" {
		p.loose = append(p.loose, r)
	} else if old, known := p.replies[r.server]; !known || old.silent {
		p.replies[r.server] = r
	}
}

// answered returns the number of replicas that have responded.
func (p *poll) answered() int {
	n := 0
	for server, r := range p.replies {
		if !r.silent && slices.Contains(p.place.names, server) {
			n++
		}
	}
	return n
}

// majority reports whether a majority has responded.
func (p *poll) majority() bool { return p.answered() >= p.place.majority() }

// all reports whether every replica that has caught up was asked, and a majority has
// responded.
func (p *poll) all() bool {
	for _, server := range p.place.names {
		if _, asked := p.replies[server]; !asked && p.place.current[server] && !p.place.isNew {
			return false
		}
	}
	return p.majority()
}

// best returns the preferred message among the sound ones.
func (p *poll) best(m *message, ok sound, prefer func(a, b *message) bool) *message {
	for _, r := range p.replies {
		if one := r.first(); ok.accepts(one) && (m == nil || prefer(one, m)) {
			m = one
		}
	}
	for _, r := range p.loose {
		if one := r.first(); ok.accepts(one) && (m == nil || prefer(one, m)) {
			m = one
		}
	}
	return m
}

func newer(a, b *message) bool { return a.seq > b.seq }
func older(a, b *message) bool { return a.seq < b.seq }

// sound reports whether a message is valid for the caller. Nil accepts all.
type sound func(*message) bool

func (s sound) accepts(m *message) bool { return m != nil && (s == nil || s(m)) }

// latest returns the last message of a subject that any replica has. It asks the leader and
// a majority of replicas, and all reachable ones before it returns nil. A message that is
// not sound counts as missing if a replica has a sound one.
func (e *engine) latest(ctx context.Context, stream, subject string, ok sound) (*message, error) {
	req := getRequest{LastFor: subject}
	if !e.clustered() {
		return e.fromLeader(ctx, stream, req)
	}
	p, err := e.poll(ctx, stream, req)
	if err != nil {
		return nil, err
	}
	defer p.close()
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		p.until(p.majority)
	}()
	own, err := e.fromLeader(ctx, stream, req)
	if err != nil {
		p.close()
	}
	<-polled
	if err != nil {
		return nil, err
	}
	best := p.best(nil, ok, newer)
	if ok.accepts(own) && (best == nil || own.seq >= best.seq) {
		if !p.majority() {
			return nil, errUnasked
		}
		return own, nil
	}
	if best == nil {
		p.until(p.all)
		if best = p.best(nil, ok, newer); best == nil && !p.majority() {
			return nil, errUnasked
		}
	}
	if best == nil {
		return own, nil
	}
	return e.resolveAhead(ctx, stream, req, best, ok)
}

// resolveAhead decides what to return if a replica has a later message than the leader
// reported: the leader may have received it in the meantime, or lost it.
func (e *engine) resolveAhead(ctx context.Context, stream string, req getRequest, best *message, ok sound) (*message, error) {
	own, err := e.fromLeader(ctx, stream, req)
	if err != nil {
		return nil, err
	}
	if ok.accepts(own) && own.seq >= best.seq {
		return own, nil
	}
	e.suspect(stream, best.seq)
	return best, nil
}

// lastAny returns the last message of a subject that any replica has, with or without a
// leader; nil if no responding replica has one.
func (e *engine) lastAny(ctx context.Context, stream, subject string, ok sound) (*message, error) {
	req := getRequest{LastFor: subject}
	once, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	messages, err := direct(once, e.nc, stream, req, "")
	r := reply{messages: messages}
	m := r.first()
	if !e.clustered() || err != nil {
		return m, err
	}
	p, err := e.poll(ctx, stream, req)
	if err != nil {
		return m, nil // no leader knows the other replicas
	}
	defer p.close()
	p.until(p.all)
	if !ok.accepts(m) {
		m = nil
	}
	return p.best(m, ok, newer), nil
}

// pick returns the message with the requested sequence, or the first of a subject from a
// sequence on: that of the leader if it is sound, otherwise that of a replica. Without a
// check, a majority is always asked. Nil means that a majority does not have it.
func (e *engine) pick(ctx context.Context, stream string, req getRequest, ok sound) (*message, error) {
	own, err := e.fromLeader(ctx, stream, req)
	if err != nil || !e.clustered() || ok != nil && ok.accepts(own) {
		return own, err
	}
	p, err := e.poll(ctx, stream, req)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.place.isNew = p.place.isNew && ok == nil // a message that must exist is searched for on all replicas
	best := own
	if !ok.accepts(own) {
		best = nil
	}
	p.until(func() bool { return p.majority() && p.best(best, ok, older) != nil || p.all() })
	switch best = p.best(best, ok, older); {
	case !p.majority() && (best == nil || best == own):
		return nil, errUnasked
	case best == nil:
		return own, nil
	case best != own && (own == nil || best.seq != own.seq || ok != nil):
		e.suspect(stream, best.seq)
	}
	return best, nil
}

// lastSeq returns the greatest sequence of a stream on its leader and a majority of
// replicas.
func (e *engine) lastSeq(ctx context.Context, stream string) (uint64, error) {
	waitCtx, cancel := e.withWait(ctx)
	defer cancel()
	return askUntilAnswered(waitCtx, func(ctx context.Context) (uint64, error) {
		_, last, err := e.info(ctx, stream)
		if err != nil || !e.clustered() {
			return last, err
		}
		p, err := e.poll(ctx, stream, getRequest{LastFor: ">"})
		if err != nil {
			return 0, err
		}
		defer p.close()
		if p.until(p.majority); !p.majority() {
			return 0, errUnasked
		}
		if m := p.best(nil, nil, newer); m != nil {
			last = max(last, m.seq)
		}
		return last, nil
	})
}
