package jetstream

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// watch finds out, in the background, which server does not have a message that
// another one has, reports it, and moves the leadership of the stream away from it.
type watch struct {
	// found is called for each fault that was confirmed.
	found func(Fault)

	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu sync.Mutex
	// busy are the streams that are being looked at, told the faults that were
	// reported, and when.
	busy map[string]bool
	told map[string]time.Time
}

// Fault is a message that a replica lacks, or has another one in its place, while
// other replicas have it.
type Fault struct {
	// Server is the one whose replica is damaged, Stream what it is of.
	Server, Stream string
	// Subject and Seq are of the first message that is missing or wrong.
	Subject string
	Seq     uint64
	// Missing and Wrong count the messages, where all were compared. Extra counts
	// those that only this server has: it did not remove them, or the others lost
	// them.
	Missing, Wrong, Extra int
	// Unasked says that the replica could not be read: the server is down, cannot
	// be reached or has not caught up.
	Unasked bool
}

// String says what is wrong, with the server's name and what to do.
func (f Fault) String() string {
	if f.Unasked {
		return fmt.Sprintf("the replica of server %q of stream %s could not be checked: the server does not answer or has not caught up", f.Server, f.Stream)
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
	// confirmPause is after what time a server that lacks a message is asked again:
	// it may only lag.
	confirmPause = 300 * time.Millisecond
	// tellAgain is after what time the same fault is reported again.
	tellAgain = 10 * time.Minute
	// maxTold bounds how many faults are remembered.
	maxTold = 10_000
)

func (w *watch) open() {
	w.life, w.end = context.WithCancel(context.Background())
	w.busy, w.told = make(map[string]bool), make(map[string]time.Time)
}

func (w *watch) close() {
	w.end()
	w.work.Wait()
}

// first reports whether a fault was not reported lately, and remembers it.
func (w *watch) first(f Fault) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := fmt.Sprint(f.Server, " ", f.Stream, " ", f.Seq)
	if last, ok := w.told[name]; ok && time.Since(last) < tellAgain {
		return false
	}
	if len(w.told) >= maxTold {
		clear(w.told)
	}
	w.told[name] = time.Now()
	return true
}

// suspect looks, in the background, for the server that does not have a message of
// a stream which another one has.
func (e *engine) suspect(stream string, seq uint64) {
	e.lookInto(stream, func(ctx context.Context) { e.investigate(ctx, stream, seq) })
}

// stalled looks, in the background, whether the leader of a stream has lost what
// others have: the message that another one expects before it, or its last ones.
func (e *engine) stalled(stream string, last uint64) {
	e.lookInto(stream, func(ctx context.Context) {
		if last > 0 {
			e.investigate(ctx, stream, last)
		}
		e.compareEnds(ctx, stream)
	})
}

// compareEnds moves the leadership of a stream to a server that has later messages
// than the leader, if there is one.
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
		if m == nil || rest(ctx, confirmPause) != nil {
			return
		}
		if try == 0 {
			continue // it may have got it meanwhile
		}
		if f := (Fault{Server: place.leader, Stream: stream, Subject: m.subject, Seq: last + 1, Missing: 1}); e.watch.first(f) {
			e.watch.found(f)
		}
		e.stepDown(ctx, stream, holder)
		return
	}
}

// lookInto does something about a stream in the background, unless something is
// being done about it.
func (e *engine) lookInto(stream string, do func(context.Context)) {
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

// investigate reports which servers lack a message, and moves the leadership if it
// is the leader that does.
func (e *engine) investigate(ctx context.Context, stream string, seq uint64) {
	lacking, _, _ := e.lacking(ctx, stream, seq)
	if len(lacking) == 0 || rest(ctx, confirmPause) != nil {
		return
	}
	again, holder, m := e.lacking(ctx, stream, seq)
	e.places.forget(stream)
	p, err := e.placement(ctx, stream)
	if err != nil || m == nil {
		return
	}
	if len(again) >= p.majority() { // a damaged server may have what was removed
		if f := (Fault{Server: holder, Stream: stream, Subject: m.subject, Seq: seq, Extra: 1}); e.watch.first(f) {
			e.watch.found(f)
		}
		return
	}
	for server := range lacking {
		if !again[server] || !p.current[server] {
			continue // it lagged
		}
		if f := (Fault{Server: server, Stream: stream, Subject: m.subject, Seq: seq, Missing: 1}); e.watch.first(f) {
			e.watch.found(f)
		}
		if server == p.leader {
			e.stepDown(ctx, stream, holder)
		}
	}
}

// lacking returns the servers that do not have a message, and one that does, with
// the message.
func (e *engine) lacking(ctx context.Context, stream string, seq uint64) (map[string]bool, string, *message) {
	p, err := e.poll(ctx, stream, getRequest{Seq: seq})
	if err != nil {
		return nil, "", nil
	}
	defer p.close()
	p.most = mostChecked
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
		return nil, "", nil // it was taken away for all of them
	}
	return without, holder, found
}

// stepDown asks the leader of a stream to let another server lead.
func (e *engine) stepDown(ctx context.Context, stream, to string) {
	var reply struct {
		Error *apiError `json:"error"`
	}
	req := map[string]any{"placement": map[string]string{"preferred": to}}
	_ = e.ask(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, req, &reply) // it is tried again when the next read finds the fault
	e.places.forget(stream)
}

// intact reports whether a message is what was written, as far as it tells itself:
// a value by its check, lines by their sum.
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
