package jetstream

import (
	"context"
	"slices"
)

// A server whose file is damaged says that a message is not there, or returns an
// older one, and so does the leader of a stream. So the leader's answer counts for
// what is there, but what is not there must be missing in a majority of replicas.
// A message that any replica has is committed: followers store nothing else.

// poll asks the replicas of a stream the same until enough of them have answered.
type poll struct {
	e      *engine
	stream string
	req    getRequest
	place  placement
	// replies are by server; those of servers that did not answer are silent.
	replies map[string]reply
	// loose are replies of which the server is not known.
	loose []reply
	// came gets the replies. Asked counts the requests, open those without one;
	// most is how many may be made.
	came              chan reply
	asked, open, most int
	life              context.Context
	close             context.CancelFunc
}

const (
	// atATime is how many requests are under way at a time. Servers choose who
	// answers, so that some reach the same one.
	atATime = 4
	// mostAsked is how many requests are made: with three replicas each is reached
	// by one of them but for one time in 1,500. To check replicas more are made.
	mostAsked, mostChecked = 18, 80
)

// poll begins to ask; close must be called.
func (e *engine) poll(ctx context.Context, stream string, req getRequest) (*poll, error) {
	place, err := e.placement(ctx, stream)
	if err != nil && len(place.names) == 0 {
		return nil, err
	}
	p := &poll{e: e, stream: stream, req: req, place: place, replies: make(map[string]reply), most: mostAsked, came: make(chan reply, mostChecked)}
	p.life, p.close = context.WithCancel(ctx)
	return p, nil
}

// until asks until done, or until it makes no sense to go on.
func (p *poll) until(done func() bool) {
	for !done() {
		for ; p.open < atATime && p.asked < p.most; p.open++ {
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

// answered is how many replicas have.
func (p *poll) answered() int {
	n := 0
	for server, r := range p.replies {
		if !r.silent && slices.Contains(p.place.names, server) {
			n++
		}
	}
	return n
}

// majority reports whether a majority has answered.
func (p *poll) majority() bool { return p.answered() >= p.place.majority() }

// all reports whether every replica that has caught up was asked, and a majority
// has answered.
func (p *poll) all() bool {
	for _, server := range p.place.names {
		if _, asked := p.replies[server]; !asked && p.place.current[server] && !p.place.young {
			return false
		}
	}
	return p.majority()
}

// best returns the message that is preferred of those that are sound.
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

// sound accepts messages that make sense to who asked. Nil accepts all.
type sound func(*message) bool

func (s sound) accepts(m *message) bool { return m != nil && (s == nil || s(m)) }

// latest returns the last message of a subject that any replica has: the leader
// and a majority of replicas are asked, and all that can be reached before it
// returns nil. One that is not sound counts as missing, if a replica has a sound
// one.
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
	return e.ahead(ctx, stream, req, best, ok)
}

// ahead decides what to return when a replica has a later message than the leader
// said it has: the leader may have got it meanwhile, or lost it.
func (e *engine) ahead(ctx context.Context, stream string, req getRequest, best *message, ok sound) (*message, error) {
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

// lastAny returns the last message of a subject that any replica has, whether or
// not a leader answers; nil if none of those that answer has one.
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
		return m, nil // there is no leader that knows who else to ask
	}
	defer p.close()
	p.until(p.all)
	if !ok.accepts(m) {
		m = nil
	}
	return p.best(m, ok, newer), nil
}

// pick returns the message that is asked for by its sequence, or the first of a
// subject from a sequence on: as the leader has it, if that is sound, else as a
// replica has it. Without a check a majority is asked in any case. Nil means that
// a majority does not have it.
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
	p.place.young = p.place.young && ok == nil // one that must be there is looked for everywhere
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

// lastSeq returns the greatest sequence of a stream that its leader or one of a
// majority of replicas has.
func (e *engine) lastSeq(ctx context.Context, stream string) (uint64, error) {
	patient, cancel := e.patient(ctx)
	defer cancel()
	return insist(patient, func(ctx context.Context) (uint64, error) {
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
