package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/sse"
	"firn.dev/wire"
)

// pipeNet is a network in memory, so that real servers and connections
// can be used with the fake clock of synctest.
type pipeNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeNet() *pipeNet {
	return &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeNet) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipeNet) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipeNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve serves a handler over an in-memory network and returns a client for it. Both are
// closed when the test ends, so nothing is left in a synctest bubble.
func serve(t *testing.T, h http.Handler) *client.Client {
	t.Helper()
	network := newPipeNet()
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(network)
	}()
	transport := &http.Transport{DialContext: network.dial}
	c := newClient(t, client.Options{Address: "http://gateway.test", Transport: transport})
	t.Cleanup(func() {
		c.Close()
		server.Close()
		<-done
	})
	return c
}

func newClient(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fault is a failure of a connection that streams events.
type fault string

const (
	abort fault = "abort" // the connection breaks
	tear  fault = "tear"  // it breaks in the middle of an event
	end   fault = "end"   // it ends without an error
	slow  fault = "slow"  // the gateway reports that the client is too slow
	bye   fault = "bye"   // the gateway closes the connection
	mute  fault = "mute"  // nothing more is sent
	busy  fault = "busy"  // the gateway rejects temporarily
	page  fault = "page"  // a proxy answers instead
)

var allFaults = []fault{abort, tear, end, slow, bye, mute, busy, page}

// interruption is a fault after the given number of events of a connection.
type interruption struct {
	fault fault
	after int
	// before is the number of events that are repeated.
	before int
}

// fake is a gateway that implements the protocol for one session, with faults: the first for
// the first connection, and so on. Then there are none.
type fake struct {
	mu            sync.Mutex
	log           []wire.Event
	grown         chan struct{} // closed and replaced when the log grows
	interruptions []interruption
	// resumed holds the positions from which connections resumed.
	resumed []string
	// turns holds the received requests for turns.
	turns []wire.Turn
	// script holds the events of a turn.
	script []wire.Event
}

const session firn.ID = "0199-test"

func newFake(entries int, interruptions ...interruption) *fake {
	f := &fake{grown: make(chan struct{}), interruptions: interruptions}
	for range entries {
		f.append()
	}
	return f
}

// append adds an entry to the log.
func (f *fake) append() {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.log) + 1
	at, next := firn.Pos((n-1)*100), firn.Pos(n*100)
	line := fmt.Sprintf(`{"type":"message","id":"e%d","text":"<&>"}`, n)
	e := newEvent(wire.EntryAppended, wire.Entry{At: at, Next: next, Line: json.RawMessage(line)})
	e.Pos = next
	f.log = append(f.log, e)
	close(f.grown)
	f.grown = make(chan struct{})
}

func newEvent(name string, data any) wire.Event {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return wire.Event{Name: name, Session: session, Data: raw}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := f.next(r)
	switch m.fault {
	case busy:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error":{"kind":"closing","message":"going away"}}`)
		return
	case page:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html>bad gateway</html>")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := &eventSender{w: w, r: r, interruption: m}
	if strings.HasSuffix(r.URL.Path, "/turns") {
		f.sendTurn(s)
	} else {
		f.sendLog(s)
	}
}

// next counts a connection and returns its interruption.
func (f *fake) next(r *http.Request) interruption {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resumed = append(f.resumed, r.Header.Get("Last-Event-ID"))
	if strings.HasSuffix(r.URL.Path, "/turns") {
		var t wire.Turn
		if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
			panic(err)
		}
		f.turns = append(f.turns, t)
	}
	m := interruption{after: -1}
	if len(f.interruptions) > 0 {
		m, f.interruptions = f.interruptions[0], f.interruptions[1:]
	}
	return m
}

// sendLog sends the log after the requested position, a delta before each entry, and then
// new entries.
func (f *fake) sendLog(s *eventSender) {
	after, err := strconv.ParseUint(s.r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		panic(err)
	}
	i := max(int(after/100)-s.interruption.before, 0)
	for {
		f.mu.Lock()
		todo, grown := f.log[i:], f.grown
		f.mu.Unlock()
		for _, e := range todo {
			if !s.send(newEvent(wire.DeltaText, wire.Delta{Text: "so"})) || !s.send(e) {
				return
			}
			i++
		}
		s.flush()
		select {
		case <-grown:
		case <-s.r.Context().Done():
			return
		}
	}
}

// sendTurn sends the events of a turn.
func (f *fake) sendTurn(s *eventSender) {
	for _, e := range f.script {
		if !s.send(e) {
			return
		}
	}
}

// eventSender sends events until its fault occurs.
type eventSender struct {
	w            http.ResponseWriter
	r            *http.Request
	interruption interruption
	reported     int
}

func (s *eventSender) flush() { http.NewResponseController(s.w).Flush() }

// send sends an event, or triggers the fault and returns false.
func (s *eventSender) send(e wire.Event) bool {
	if s.interruption.fault != "" && s.reported == s.interruption.after {
		s.fail(e)
		return false
	}
	s.reported++
	s.w.Write(encodeEvent(e))
	s.flush()
	return true
}

// fail triggers the fault.
func (s *eventSender) fail(e wire.Event) {
	switch s.interruption.fault {
	case tear:
		whole := encodeEvent(e)
		s.w.Write(whole[:len(whole)-1])
		s.flush()
		panic(http.ErrAbortHandler)
	case abort:
		s.flush()
		panic(http.ErrAbortHandler)
	case slow:
		s.w.Write(encodeEvent(wire.Event{Name: wire.Gap, Session: session}))
	case bye:
		s.w.Write(encodeEvent(wire.Event{Name: wire.Bye, Session: session}))
	case mute:
		s.flush()
		<-s.r.Context().Done()
	}
}

// encodeEvent writes an event as the gateway does.
func encodeEvent(e wire.Event) []byte {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	out := sse.Event{Name: e.Name, Data: data}
	if e.Pos > 0 {
		out.ID = strconv.FormatUint(uint64(e.Pos), 10)
	}
	return sse.Append(nil, out)
}

// mustJSON encodes a value as JSON.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// readJSON reads the body of a request.
func readJSON(r *http.Request, v any) error { return json.NewDecoder(r.Body).Decode(v) }
