package jetstream

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// watch finds, in the background, the server that lacks a message which another one has,
// reports it, and moves the leadership of the stream to another server.
type watch struct {
	// found is called for each confirmed fault.
	found func(Fault)

	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu sync.Mutex
	// busy are the streams being investigated, reported the faults that were reported, with
	// the time.
	busy     map[string]bool
	reported map[string]time.Time
}

// Fault is a message that is missing or different in one replica but present in others.
type Fault struct {
	// Server is the server with the damaged replica, Stream the stream.
	Server, Stream string
	// Subject and Seq identify the first message that is missing or wrong.
	Subject string
	Seq     uint64
	// Missing and Wrong count the messages if all were compared. Extra counts those that
	// only this server has: it did not remove them, or the others lost them.
	Missing, Wrong, Extra int
	// Unasked reports whether the replica could not be read: the server is down,
	// unreachable or has not caught up.
	Unasked bool
}

// String describes the fault, with the server's name and a remedy.
func (f Fault) String() string {
	if f.Unasked {
		return fmt.Sprintf("cannot check the replica of server %q of stream %s: the server does not respond or is behind", f.Server, f.Stream)
	}
	if f.Missing+f.Wrong == 0 && f.Extra > 0 {
		return fmt.Sprintf("only server %q has message %d of stream %s: it was not removed there, or the others have lost it; heal %s only if sessions are read without a fault while it is stopped",
			f.Server, f.Seq, f.Stream, f.Server)
	}
	what := "is missing or damaged"
	if n := f.Missing + f.Wrong; n > 1 {
		what = fmt.Sprintf("and %d more are missing or damaged", n-1)
	}
	return fmt.Sprintf("corrupt in the replica of server %q: message %d of stream %s %s there, and is read from another server; heal %s: stop it, empty its store_dir, start it",
		f.Server, f.Seq, f.Stream, what, f.Server)
}

const (
	// confirmPause is the time after which a server that lacks a message is asked again,
	// since it may only lag.
	confirmPause = 300 * time.Millisecond
	// lagWait is the time after which a server that still lacks a message does not only lag.
	lagWait = 8 * time.Second
	// reportAgainAfter is the time after which the same fault is reported again.
	reportAgainAfter = 10 * time.Minute
	// maxReported is the maximum number of remembered faults.
	maxReported = 10_000
)

func (w *watch) open() {
	w.life, w.end = context.WithCancel(context.Background())
	w.busy, w.reported = make(map[string]bool), make(map[string]time.Time)
}

func (w *watch) close() {
	w.end()
	w.work.Wait()
}

// firstReport reports whether a fault was not reported recently, and remembers it.
func (w *watch) firstReport(f Fault) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := fmt.Sprint(f.Server, " ", f.Stream, " ", f.Seq)
	if last, ok := w.reported[name]; ok && time.Since(last) < reportAgainAfter {
		return false
	}
	if len(w.reported) >= maxReported {
		clear(w.reported)
	}
	w.reported[name] = time.Now()
	return true
}

// suspect searches, in the background, for the server that lacks a message of a stream
// which another one has.
func (e *engine) suspect(stream string, seq uint64) {
	e.inBackground(stream, func(ctx context.Context) { e.investigate(ctx, stream, seq) })
}

// stalled checks, in the background, whether the leader of a stream has lost messages that
// others have: the one that a publish expects as its predecessor, or its last ones.
func (e *engine) stalled(stream string, last uint64) {
	e.inBackground(stream, func(ctx context.Context) {
		e.compareEnds(ctx, stream)
		if last > 0 {
			e.investigate(ctx, stream, last)
		}
	})
}

// compareEnds moves the leadership of a stream to a server with later messages than the
// leader, if there is one.
func (e *engine) compareEnds(ctx context.Context, stream string) {
	for try := 0; ; try++ {
		place, last, err := e.info(ctx, stream)
		if err != nil {
			return
		}
		p, err := e.poll(ctx, stream, getRequest{LastFor: ">"})
		if err != nil {
			return
		}
		p.until(p.all)
		p.close()
		var m *message
		holder := ""
		for server, r := range p.replies {
			if one := r.first(); one != nil && one.seq > last && server != place.leader {
				holder, m = server, one
			}
		}
		if m == nil || sleepContext(ctx, confirmPause) != nil {
			return
		}
		if try == 0 {
			continue // it may have received it in the meantime
		}
		e.reportFault(Fault{Server: place.leader, Stream: stream, Subject: m.subject, Seq: last + 1, Missing: 1})
		e.stepDown(ctx, stream, holder)
		return
	}
}

// inBackground runs do for a stream in the background, unless one is running already.
func (e *engine) inBackground(stream string, do func(context.Context)) {
	w := &e.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[stream] || w.life.Err() != nil || !e.clustered() {
		return
	}
	w.busy[stream] = true
	w.work.Go(func() {
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.busy, stream)
		}()
		do(w.life)
	})
}

// investigate reports the servers that lack a message, and moves the leadership if the
// leader is one of them. A server without any later message may only lag, also after it has
// received the message: it is given until lagWait.
func (e *engine) investigate(ctx context.Context, stream string, seq uint64) {
	lacking, _, _ := e.lacking(ctx, stream, seq)
	for waited, pause := time.Duration(0), confirmPause; len(lacking) > 0; pause *= 2 {
		if sleepContext(ctx, pause) != nil {
			return
		}
		waited += pause
		ends := e.ends(ctx, stream)
		e.places.forget(stream)
		p, counted, err := e.info(ctx, stream)
		again, holder, m := e.lacking(ctx, stream, seq)
		if err != nil || m == nil {
			return
		}
		if counted >= seq { // the leader has had it
			ends[p.leader] = seq + 1
		}
		last := waited >= lagWait
		if len(again) >= p.majority() { // a damaged server may still have messages that were removed
			if last {
				e.reportFault(Fault{Server: holder, Stream: stream, Subject: m.subject, Seq: seq, Extra: 1})
				return
			}
			continue
		}
		for server := range lacking {
			switch {
			case !again[server] || !p.current[server]: // it lagged
				delete(lacking, server)
			case last || ends[server] > seq:
				delete(lacking, server)
				e.reportFault(Fault{Server: server, Stream: stream, Subject: m.subject, Seq: seq, Missing: 1})
				if server == p.leader {
					e.stepDown(ctx, stream, holder)
				}
			}
		}
	}
}

// reportFault reports a fault that was not reported recently.
func (e *engine) reportFault(f Fault) {
	if e.watch.firstReport(f) {
		e.watch.found(f)
	}
}

// ends returns the sequence of the last message of a stream on each server that responds.
func (e *engine) ends(ctx context.Context, stream string) map[string]uint64 {
	all := make(map[string]uint64)
	p, err := e.poll(ctx, stream, getRequest{LastFor: ">"})
	if err != nil {
		return all
	}
	defer p.close()
	p.until(p.all)
	for server, r := range p.replies {
		if m := r.first(); m != nil {
			all[server] = m.seq
		}
	}
	return all
}

// lacking returns the servers that lack a message, and one that has it, with the message.
func (e *engine) lacking(ctx context.Context, stream string, seq uint64) (map[string]bool, string, *message) {
	p, err := e.poll(ctx, stream, getRequest{Seq: seq})
	if err != nil {
		return nil, "", nil
	}
	defer p.close()
	p.most = maxCheckRequests
	p.until(p.all)
	without, holder, found := make(map[string]bool), "", (*message)(nil)
	for server, r := range p.replies {
		switch m := r.first(); {
		case r.silent:
		case m == nil || !intact(m):
			without[server] = true
		default:
			holder, found = server, m
		}
	}
	if found == nil {
		return nil, "", nil // it was removed from all of them
	}
	return without, holder, found
}

// stepDown asks the leader of a stream to transfer the leadership to another server.
func (e *engine) stepDown(ctx context.Context, stream, to string) {
	var reply struct {
		Error *apiError `json:"error"`
	}
	req := map[string]any{"placement": map[string]string{"preferred": to}}
	_ = e.ask(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, req, &reply) // tried again when the next read finds the fault
	e.places.forget(stream)
}

// intact reports whether a message is undamaged according to its own data: a value by its
// hash, lines by their checksum.
func intact(m *message) bool {
	if check := m.header.Get(headCheck); check != "" {
		return check == checkOf(m.subject, m.data)
	}
	if !strings.Contains(m.subject, ".s.") || m.header.Get(headSum) == "" {
		return true
	}
	f, err := parseFrame(m)
	if err != nil {
		return false
	}
	return f.whole() == nil
}
