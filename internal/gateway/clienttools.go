package gateway

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/approve"
	"firn.dev/wire"
)

// Limits of an offer of client tools, and of results.
const (
	leastSecret, mostSecret = 32, 128
	mostClientTools         = 256
	mostToolText            = 64 << 10 // description and schema of one tool
	mostClientInstructions  = 128 << 10
	mostClientProgress      = 64 << 10
	mostClientDetails       = 2 << 20
	mostClientFiles         = 10_000
)

// reattachWait is how long calls wait for a client whose connection broke. A killed client
// leaves interrupted calls after that time.
const reattachWait = 5 * time.Second

// clientToolsField marks a message whose turn used the tools of its client, or of a terminal
// without a gateway. No gateway continues such a turn on its own: its tools are not there.
const clientToolsField = "clientTools"

// checkClientTools rejects an invalid offer.
func checkClientTools(o *wire.ClientTools) error {
	switch {
	case len(o.Secret) < leastSecret || len(o.Secret) > mostSecret:
		return Invalid("the secret of client tools has %d to %d characters", leastSecret, mostSecret)
	case o.Directory != "" && (!firn.ValidDirectory(o.Directory) || !isAbsolute(o.Directory)):
		return Invalid("the directory of client tools is not an absolute path")
	case len(o.Tools) > mostClientTools:
		return Invalid("there are more than %d client tools", mostClientTools)
	}
	total := 0
	for _, text := range o.Instructions {
		total += len(text)
	}
	if total > mostClientInstructions {
		return Invalid("the instructions of client tools are larger than %d bytes", mostClientInstructions)
	}
	seen := make(map[string]bool)
	for _, t := range o.Tools {
		switch {
		case t.Name == "" || len(t.Name) > 128 || seen[t.Name]:
			return Invalid("the name of a client tool, %q, is empty, too long or there twice", firn.CutText(t.Name, 80))
		case len(t.Description)+len(t.Schema) > mostToolText:
			return Invalid("the description of the client tool %s is larger than %d bytes", t.Name, mostToolText)
		case len(t.Schema) > 0 && !json.Valid(t.Schema):
			return Invalid("the schema of the client tool %s is not JSON", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// isAbsolute reports whether a path is absolute on this system or on another one: the client
// may run on a different system.
func isAbsolute(dir string) bool {
	return filepath.IsAbs(dir) || path.IsAbs(dir) || len(dir) > 2 && dir[1] == ':' && (dir[2] == '\\' || dir[2] == '/') || strings.HasPrefix(dir, `\\`)
}

// toolLease connects the calls of a turn with the client that offered its tools. It ends
// when the client is gone.
type toolLease struct {
	offer   wire.ClientTools
	session firn.ID
	asker   Asker
	// gone is closed when the client is gone.
	gone chan struct{}

	mu    sync.Mutex
	ended bool
	// stream is the client's connection; nil while there is none. absent ends the lease
	// then.
	stream *leaseStream
	absent *time.Timer
	open   []*clientCall
}

// leaseStream is a connection of the client.
type leaseStream struct {
	// ready has an item if events is not empty.
	ready  chan struct{}
	events []wire.Event
}

// clientCall is a call that waits for its result.
type clientCall struct {
	wire.ClientCall
	result chan wire.ClientResult
	report func(text string)
}

// newLease returns the lease for an offer. It ends if no client attaches to it.
func newLease(o *wire.ClientTools, session firn.ID, who Asker) *toolLease {
	l := &toolLease{offer: *o, session: session, asker: who, gone: make(chan struct{})}
	l.absent = time.AfterFunc(reattachWait, l.end)
	return l
}

// attach makes a connection the one that receives calls. Open calls are sent again; the
// client knows those that it is running. It returns nil if the lease is nil, has ended, or
// belongs to another client.
func (l *toolLease) attach(secret string, who Asker) *leaseStream {
	if l == nil || !l.ownedBy(secret, who) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.absent.Stop()
	l.stream = &leaseStream{ready: make(chan struct{}, 1)}
	for _, c := range l.open {
		l.send(wire.ToolCall, c.ClientCall)
	}
	return l.stream
}

// ownedBy reports whether a secret and an asker are those of the client.
func (l *toolLease) ownedBy(secret string, who Asker) bool {
	return subtle.ConstantTimeCompare([]byte(secret), []byte(l.offer.Secret)) == 1 && who == l.asker
}

// sameClient reports whether two leases, which may be nil, are of the same client, so that
// their messages may share a turn.
func (l *toolLease) sameClient(other *toolLease) bool {
	if l == nil || other == nil {
		return l == other
	}
	return l.ownedBy(other.offer.Secret, other.asker) && l.offer.Directory == other.offer.Directory
}

// adds reports whether the client offers a tool besides those of the agent's workspace. The
// lease may be nil.
func (l *toolLease) adds(name string) bool {
	return l != nil && l.offer.Added && slices.ContainsFunc(l.offer.Tools, func(t wire.ClientTool) bool { return t.Name == name })
}

// confined reports whether the tools of the client replace those of the agent's workspace
// and never leave its directory. The lease may be nil.
func (l *toolLease) confined() bool { return l != nil && !l.offer.Added && !l.offer.Outside }

// detach ends a connection. If no other one replaces it in time, the client is gone.
func (l *toolLease) detach(s *leaseStream) {
	if s == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream == s && !l.ended {
		l.stream = nil
		l.absent = time.AfterFunc(reattachWait, l.end)
	}
}

// end ends the lease: open calls are interrupted.
func (l *toolLease) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		l.absent.Stop()
		close(l.gone)
	}
}

// send queues an event for the client. The caller holds mu.
func (l *toolLease) send(name string, c wire.ClientCall) {
	if l.stream == nil {
		return
	}
	l.stream.events = append(l.stream.events, event(name, l.session, c))
	select {
	case l.stream.ready <- struct{}{}:
	default:
	}
}

// take returns the queued events of a connection.
func (l *toolLease) take(s *leaseStream) []wire.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := s.events
	s.events = nil
	return events
}

// waiting returns the channel that signals events of a connection; nil if there is none.
func (s *leaseStream) waiting() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.ready
}

// cancelWait is how long a canceled call waits for the client's partial result. It is
// shorter than the time that the turn waits for a tool.
const cancelWait = 4 * time.Second

// run sends a call to the client and waits for the result.
func (l *toolLease) run(ctx context.Context, call wire.ClientCall, report func(string)) (wire.ClientResult, error) {
	c := &clientCall{ClientCall: call, result: make(chan wire.ClientResult, 1), report: report}
	l.mu.Lock()
	l.open = append(l.open, c)
	l.send(wire.ToolCall, call)
	l.mu.Unlock()
	defer l.remove(c)
	var late <-chan time.Time
	done := ctx.Done()
	for {
		select {
		case r := <-c.result:
			return r, nil
		case <-l.gone:
			return wire.ClientResult{}, errClientGone
		case <-done:
			done, late = nil, time.After(cancelWait)
			l.mu.Lock()
			l.send(wire.ToolCanceled, call)
			l.mu.Unlock()
		case <-late:
			return wire.ClientResult{}, context.Cause(ctx)
		}
	}
}

// errClientGone is the error of calls whose client is gone.
var errClientGone = fmt.Errorf("%w: %w", &wire.Problem{
	Kind: wire.Unavailable, Message: "the terminal that runs the tools is gone", Hint: "open the chat again; /retry continues the turn",
}, agent.ErrToolsGone)

func (l *toolLease) remove(c *clientCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = slices.DeleteFunc(l.open, func(x *clientCall) bool { return x == c })
}

// answer passes a result to its call.
func (l *toolLease) answer(call string, r wire.ClientResult) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.open, func(c *clientCall) bool { return c.Call == call && c.Preview == r.Preview })
	if l.ended || i < 0 {
		return noClientCall(call)
	}
	c := l.open[i]
	if c.Digest != r.Digest {
		return &wire.Problem{Kind: wire.Conflict, Message: "the result is for another call: the digest differs"}
	}
	if r.Progress != "" {
		go c.report(r.Progress) // it may wait for the turn
		return nil
	}
	l.open = slices.Delete(l.open, i, i+1)
	c.result <- r
	return nil
}

// noClientCall returns the problem of a result that no call waits for.
func noClientCall(call string) error {
	return &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("no call %q waits for a result of this client", firn.CutText(call, 80)), Hint: "it has one already, or its turn has ended"}
}

// AnswerCall accepts the result of a call of a client's tool. Only the client that offered
// the tool can give it.
func (g *lanes) AnswerCall(ctx context.Context, id firn.ID, call string, r wire.ClientResult) (wire.CallAccepted, error) {
	if err := checkClientResult(&r); err != nil {
		return wire.CallAccepted{}, err
	}
	lane := g.laneOf(id)
	if lane == nil {
		return wire.CallAccepted{}, noClientCall(call)
	}
	lane.mu.Lock()
	running := slices.Clone(lane.running)
	lane.mu.Unlock()
	for _, t := range running {
		if l := t.lease(); l != nil && l.ownedBy(r.Secret, askerOf(ctx)) {
			return wire.CallAccepted{Call: call}, l.answer(call, r)
		}
	}
	return wire.CallAccepted{}, noClientCall(call)
}

// checkClientResult rejects an invalid result.
func checkClientResult(r *wire.ClientResult) error {
	switch {
	case r.Digest == "":
		return Invalid("the digest of the call is missing")
	case len(r.Progress) > mostClientProgress:
		return Invalid("the output is larger than %d bytes", mostClientProgress)
	case r.Progress != "" && (r.Text != "" || r.Error != "" || r.IsError || len(r.Images) > 0 || len(r.Details) > 0 || len(r.Files) > 0):
		return Invalid("output of a running call and its result are separate requests")
	case len(r.Details) > mostClientDetails || len(r.Details) > 0 && !json.Valid(r.Details):
		return Invalid("the details are not JSON of at most %d bytes", mostClientDetails)
	case len(r.Files) > mostClientFiles:
		return Invalid("there are more than %d changed files", mostClientFiles)
	case !utf8.ValidString(r.Text) || !utf8.ValidString(r.Error) || !utf8.ValidString(r.Progress):
		return Invalid("the text of the result is not UTF-8")
	}
	for _, f := range r.Files {
		if !validHash(f.Before) || !validHash(f.After) || f.Path == "" || len(f.Path) > 4096 {
			return Invalid("a changed file has no path, or its hash is not a SHA-256")
		}
	}
	return nil
}

// validHash reports whether a text is a SHA-256 in hexadecimal, or empty.
func validHash(h string) bool {
	return h == "" || len(h) == 64 && strings.Trim(h, "0123456789abcdef") == ""
}

// digestOf returns the digest of a call.
func digestOf(call firn.ToolCall) string { return approve.Digest(call.Name, call.Arguments) }
