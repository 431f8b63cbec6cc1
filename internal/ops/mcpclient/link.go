package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/tool"
)

const (
	// maxTools limits the tools of a server, maxDescription and maxSchema what a tool says
	// about itself. A tool with a larger schema is left out.
	maxTools       = 128
	maxDescription = 8 << 10
	maxSchema      = 64 << 10
	// firstDelay and maxDelay limit the time until a server that keeps failing is started
	// again.
	firstDelay = time.Second
	maxDelay   = time.Minute
	// pingWait is how long a server that did not answer in time may take to answer a ping.
	pingWait = 2 * time.Second
)

// link is the connection to a server. It is made when it is needed, and again after it broke.
type link struct {
	server Server
	pool   *Pool

	mu sync.Mutex
	// live is the current connection; nil if there is none. starting is closed when the
	// current attempt to make one is over; nil if there is none.
	live     *live
	starting chan struct{}
	// problem is why the last connection broke or could not be made; notified means that a
	// turn has reported it. failures counts the attempts since the last call that worked, and
	// next is when the next one may be made.
	problem  string
	notified bool
	failures int
	next     time.Time
	closed   bool
}

// live is a connection.
type live struct {
	session *sdk.ClientSession
	process *process // nil if the server is reached over HTTP
	// made is closed when session is set, or there is none; ended when the connection is over.
	made, ended chan struct{}

	mu       sync.Mutex
	tools    []*sdk.Tool
	progress map[string]func(text string)
}

// delay returns the time to wait after a number of failures in a row. The first failure after
// a call that worked costs nothing.
func delay(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(firstDelay<<min(failures-2, 16), maxDelay)
}

// start begins to connect, unless there is a connection, an attempt is running, or it is too
// early for one. It returns the channel that is closed when the attempt is over; nil if there
// is none.
func (l *link) start() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.live != nil || l.closed || l.server.Problem != "":
		return nil
	case l.starting != nil:
		return l.starting
	case l.pool.now().Before(l.next):
		return nil
	}
	done := make(chan struct{})
	l.starting = done
	if !l.pool.run(func(ctx context.Context) { l.connect(ctx, done) }) {
		l.starting, l.problem = nil, "firn is shutting down"
		return nil
	}
	return done
}

// connect makes a connection and stores it, or the reason why there is none.
func (l *link) connect(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, l.server.StartTimeout)
	made, err := l.open(ctx)
	cancel()
	l.mu.Lock()
	l.starting = nil
	late := l.closed
	switch {
	case err != nil:
		l.fail(fmt.Sprintf("the MCP server %s did not start: %s", l.server.Name, err))
	case !late:
		l.live, l.problem, l.notified = made, "", false
	}
	l.mu.Unlock()
	close(done)
	if err == nil && late {
		made.end(context.Background())
		return
	}
	if err == nil {
		l.watch(made)
	}
}

// fail records a failure. The caller holds mu.
func (l *link) fail(problem string) {
	l.live = nil
	l.failures++
	l.next = l.pool.now().Add(delay(l.failures))
	if l.problem != problem {
		l.problem, l.notified = problem, false
	}
}

// watch waits until the connection is over.
func (l *link) watch(made *live) {
	_ = made.session.Wait() // the reason is in the process
	reason := "the connection was closed"
	if made.process != nil {
		reason = made.process.reason()
	}
	l.mu.Lock()
	if l.live == made {
		l.fail(fmt.Sprintf("the MCP server %s stopped: %s", l.server.Name, reason))
	}
	l.mu.Unlock()
	made.end(context.Background())
	close(made.ended)
}

// end ends a connection and its process.
func (m *live) end(ctx context.Context) {
	if m.process != nil {
		_ = m.process.writer.Close()
	}
	_ = m.session.Close() // it is being thrown away
	if m.process != nil {
		m.process.end(ctx)
	}
}

// open makes a connection and reads the list of tools.
func (l *link) open(ctx context.Context) (*live, error) {
	made := &live{made: make(chan struct{}), ended: make(chan struct{}), progress: make(map[string]func(string))}
	transport, err := l.transport(made)
	if err != nil {
		return nil, err
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "firn", Version: l.pool.version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			l.pool.run(func(ctx context.Context) { l.refresh(ctx, made) })
		},
		ProgressNotificationHandler: func(_ context.Context, q *sdk.ProgressNotificationClientRequest) { made.report(q.Params) },
	})
	made.session, err = connect(ctx, c, transport)
	close(made.made)
	if err == nil {
		if err = made.list(ctx); err == nil {
			return made, nil
		}
		if made.process != nil {
			_ = made.process.writer.Close() // a blocked request ends
		}
		_ = made.session.Close() // it is being thrown away
	}
	err = l.startFailure(ctx, made, err)
	if made.process != nil {
		made.process.end(ctx)
	}
	return nil, err
}

// connect connects, and gives up when ctx is done even if the SDK does not.
func connect(ctx context.Context, c *sdk.Client, t sdk.Transport) (*sdk.ClientSession, error) {
	session, _, err := await(ctx, func() (*sdk.ClientSession, error) { return c.Connect(ctx, t, nil) })
	return session, err
}

// transport starts the server's process, or returns the connection to its address.
func (l *link) transport(made *live) (sdk.Transport, error) {
	if l.server.URL != "" {
		return httpTransport(l.server)
	}
	p, err := startProcess(l.server, func(line string) {
		l.pool.log.Debug("output of an MCP server", "server", l.server.Name, "line", line)
	})
	if err != nil {
		return nil, err
	}
	made.process = p
	return p.transport(), nil
}

// startFailure returns a sentence about a server that could not be connected to.
func (l *link) startFailure(ctx context.Context, made *live, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("it did not answer within %s", l.server.StartTimeout)
	case made.process != nil && ctx.Err() == nil:
		return errors.New(made.process.reason())
	}
	return errors.New(brief(err.Error()))
}

// refresh reads the list of tools again after the server has changed it.
func (l *link) refresh(ctx context.Context, made *live) {
	ctx, cancel := context.WithTimeout(ctx, l.server.StartTimeout)
	defer cancel()
	select {
	case <-made.made: // a server may change its list before the handshake is over
	case <-ctx.Done():
		return
	}
	if made.session == nil {
		return
	}
	if err := made.list(ctx); err != nil {
		l.pool.log.Warn("reading the tools of an MCP server failed", "server", l.server.Name, "error", brief(err.Error()))
	}
}

// list reads the list of tools.
func (m *live) list(ctx context.Context) error {
	tools, _, err := await(ctx, func() ([]*sdk.Tool, error) {
		tools := []*sdk.Tool{}
		for t, err := range m.session.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			if tools = append(tools, t); len(tools) >= maxTools {
				break
			}
		}
		return tools, nil
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tools = tools
	return nil
}

// report passes the progress of a call on.
func (m *live) report(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	m.mu.Lock()
	report := m.progress[token]
	m.mu.Unlock()
	if report == nil {
		return
	}
	text := brief(p.Message)
	if text == "" {
		text = fmt.Sprintf("%g", p.Progress)
		if p.Total > 0 {
			text += fmt.Sprintf(" of %g", p.Total)
		}
	}
	report(text + "\n")
}

// connected returns the connection, and makes one if there is none. The error is a sentence.
func (l *link) connected(ctx context.Context) (*live, error) {
	if wait := l.start(); wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.live != nil:
		return l.live, nil
	case l.server.Problem != "":
		return nil, fmt.Errorf("the MCP server %s cannot be used: %s", l.server.Name, l.server.Problem)
	case l.closed:
		return nil, fmt.Errorf("the MCP server %s was stopped", l.server.Name)
	}
	problem := l.problem
	if left := l.next.Sub(l.pool.now()); left > 0 {
		problem += fmt.Sprintf("; it can be started again in %s", left.Round(time.Second))
	}
	return nil, errors.New(problem)
}

// call runs a tool of the server.
func (l *link) call(ctx context.Context, name string, arguments json.RawMessage) (tool.Result, error) {
	c, err := l.connected(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, l.server.Timeout)
	defer cancel()
	r, returned, err := c.call(limited, l.pool.token(), name, arguments, func(text string) { tool.Progress(ctx, text) })
	if err == nil {
		l.mu.Lock()
		l.failures = 0
		l.mu.Unlock()
		return resultOf(r), nil
	}
	l.release(c, returned)
	return tool.Result{}, l.callFailure(ctx, limited, c, err)
}

// call sends a call and waits for its result, at most until ctx is done. Returned is closed when
// the SDK is done with the call.
func (m *live) call(ctx context.Context, token, name string, arguments json.RawMessage, progress func(string)) (r *sdk.CallToolResult, returned <-chan struct{}, err error) {
	m.mu.Lock()
	m.progress[token] = progress
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.progress, token)
		m.mu.Unlock()
	}()
	if len(strings.TrimSpace(string(arguments))) == 0 {
		arguments = json.RawMessage("{}")
	}
	params := &sdk.CallToolParams{Name: name, Arguments: arguments}
	params.SetProgressToken(token)
	return await(ctx, func() (*sdk.CallToolResult, error) { return m.session.CallTool(ctx, params) })
}

// callFailure returns a sentence about a failed call. A server that did not answer in time and
// does not answer a ping either is ended, so that the next call starts it again.
func (l *link) callFailure(ctx, limited context.Context, c *live, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the call was canceled: %w", context.Cause(ctx))
	case limited.Err() != nil:
		if !c.answers(ctx) {
			l.drop(c, fmt.Sprintf("the MCP server %s stopped: it did not answer within %s", l.server.Name, l.server.Timeout))
		}
		return fmt.Errorf("the MCP server %s did not answer within %s", l.server.Name, l.server.Timeout)
	case !isAnswer(err) && c.process != nil:
		return l.brokenFailure(ctx, c)
	}
	return fmt.Errorf("the MCP server %s rejected the call: %s", l.server.Name, firn.CutText(clean(err.Error()), 2000))
}

// isAnswer reports whether an error is one that the server sent.
func isAnswer(err error) bool {
	var sent *jsonrpc.Error
	return errors.As(err, &sent)
}

// brokenFailure returns a sentence about a call whose connection broke. It waits until it is
// known why.
func (l *link) brokenFailure(ctx context.Context, c *live) error {
	select {
	case <-c.ended:
	case <-time.After(3 * endWait):
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.problem != "" {
		return errors.New(l.problem)
	}
	return fmt.Errorf("the MCP server %s stopped during the call", l.server.Name)
}

// answers reports whether the server answers a ping.
func (m *live) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pingWait)
	defer cancel()
	_, _, err := await(ctx, func() (struct{}, error) { return struct{}{}, m.session.Ping(ctx, nil) })
	return err == nil
}

// drop ends a connection that is of no use.
func (l *link) drop(c *live, why string) {
	l.mu.Lock()
	if l.live == c {
		l.fail(why)
	}
	l.mu.Unlock()
	l.pool.run(func(ctx context.Context) { c.end(ctx) })
}

// close ends the connection for good.
func (l *link) close(ctx context.Context) {
	l.mu.Lock()
	l.closed = true
	c := l.live
	l.live = nil
	l.mu.Unlock()
	if c != nil {
		c.end(ctx)
		<-c.ended
	}
}
