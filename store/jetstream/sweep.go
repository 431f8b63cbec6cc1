package jetstream

import (
	"context"
	"slices"
)

// scan passes the messages of a subject from a sequence on up to last. It returns the
// sequence after the last message that was passed. In a cluster it reads a majority of
// replicas, and passes a message if any of them has it.
func (e *engine) scan(ctx context.Context, stream, subject string, from, last uint64, pass func(*message) error) (uint64, error) {
	w := &sweep{e: e, stream: stream, subject: subject, enough: (*poll).majority}
	return w.run(ctx, from, last, func(held []holding) (uint64, error) {
		for _, h := range held {
			if err := pass(h.m); err != nil {
				return h.m.seq, err
			}
		}
		return 0, nil
	})
}

// holding is a message and the servers that lack it or have a different one.
type holding struct {
	m                *message
	without, differs []string
}

// sweep reads a stream from several replicas concurrently.
type sweep struct {
	e               *engine
	stream, subject string
	// enough reports whether enough replicas were read. most is the maximum number of
	// requests for that, if not zero.
	enough func(*poll) bool
	most   int
	// missing is the first message that a server lacked, until it is known whether it only
	// lags; silent are the servers that did not respond.
	missing map[string]uint64
	silent  map[string]bool
}

// run passes messages from a sequence on up to last, some at a time, until pass fails. It
// returns the sequence that it reached.
func (w *sweep) run(ctx context.Context, from, last uint64, pass func([]holding) (uint64, error)) (uint64, error) {
	w.missing, w.silent = make(map[string]uint64), make(map[string]bool)
	pause := minPause
	for from <= last {
		waitCtx, cancel := w.e.withWait(ctx)
		held, err := askUntilAnswered(waitCtx, func(ctx context.Context) ([]holding, error) { return w.window(ctx, from) })
		cancel()
		if err != nil {
			return from, err
		}
		beyond := slices.IndexFunc(held, func(h holding) bool { return h.m.seq > last })
		if beyond >= 0 {
			held = held[:beyond]
		}
		if at, err := pass(held); err != nil {
			return at, err
		}
		if beyond >= 0 {
			return last + 1, nil
		}
		if len(held) > 0 {
			from, pause = held[len(held)-1].m.seq+1, minPause
			continue
		}
		// Either the replicas lag, or the last message no longer exists.
		m, err := w.e.next(ctx, w.stream, w.subject, from)
		if err == nil && (m == nil || m.seq > last) {
			return last + 1, nil
		}
		if err := sleepContext(ctx, pause); err != nil {
			return from, err
		}
		pause = min(2*pause, maxPause)
	}
	return from, nil
}

// window returns the next messages, up to the earliest end of the replicas' responses.
func (w *sweep) window(ctx context.Context, from uint64) ([]holding, error) {
	req := batchRequest(w.subject, from)
	if !w.e.clustered() {
		messages, err := w.e.batch(ctx, w.stream, w.subject, from)
		return merge(map[string]reply{"": {messages: messages}}), err
	}
	p, err := w.e.poll(ctx, w.stream, req)
	if err != nil {
		return nil, err
	}
	defer p.close()
	p.most = max(p.most, w.most)
	if p.until(func() bool { return w.enough(p) }); !p.majority() {
		return nil, errUnasked
	}
	if !w.enough(p) {
		for _, server := range p.place.names {
			if _, asked := p.replies[server]; !asked {
				w.silent[server] = true
			}
		}
	}
	for server, r := range p.replies {
		if r.silent {
			w.silent[server] = true
			delete(p.replies, server)
		}
	}
	held := merge(p.replies)
	w.note(held, p.replies)
	return held, nil
}

// note records which server lacks a message. If it has a later one, it does not lag.
func (w *sweep) note(held []holding, replies map[string]reply) {
	for _, h := range held {
		for _, server := range slices.Concat(h.without, h.differs) {
			if w.missing[server] == 0 {
				w.missing[server] = h.m.seq
			}
		}
	}
	for server, r := range replies {
		if seq := w.missing[server]; seq > 0 && len(r.messages) > 0 && r.messages[len(r.messages)-1].seq >= seq {
			w.e.suspect(w.stream, seq)
			delete(w.missing, server)
		}
	}
}

// merge combines the messages of replicas up to the earliest end of the non-empty replies,
// since nothing is known beyond it.
func merge(replies map[string]reply) []holding {
	end := ^uint64(0)
	for _, r := range replies {
		if n := len(r.messages); n > 0 {
			end = min(end, r.messages[n-1].seq)
		}
	}
	held := make(map[uint64]*holding)
	for _, r := range replies {
		for _, m := range r.messages {
			if m.seq > end {
				break
			}
			if h := held[m.seq]; h == nil {
				held[m.seq] = &holding{m: m}
			} else if !same(h.m, m) && !intact(h.m) {
				h.m = m
			}
		}
	}
	for server, r := range replies {
		has := make(map[uint64]*message, len(r.messages))
		for _, m := range r.messages {
			has[m.seq] = m
		}
		for seq, h := range held {
			if m := has[seq]; m == nil {
				h.without = append(h.without, server)
			} else if !same(m, h.m) {
				h.differs = append(h.differs, server)
			}
		}
	}
	all := make([]holding, 0, len(held))
	for _, h := range held {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b holding) int {
		if a.m.seq < b.m.seq {
			return -1
		}
		return 1
	})
	return all
}

// same reports whether two replicas returned the same message.
func same(a, b *message) bool {
	return a.subject == b.subject && a.header.Get(headID) == b.header.Get(headID) && a.header.Get(headSum) == b.header.Get(headSum) && string(a.data) == string(b.data)
}
