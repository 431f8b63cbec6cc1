package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Local is a transport to a handler in this process. Nothing goes over a
// network, and nothing waits in a buffer: what the handler writes is there to
// be read at once, and it goes on writing when that was read.
//
// The handler sees a request as from a Unix socket: its RemoteAddr is "@". Its
// context ends when the caller's does, when the caller closes the answer's body,
// and when Local is closed.
type Local struct {
	handler http.Handler
	ctx     context.Context
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// InProcess makes a transport to a handler.
func InProcess(h http.Handler) *Local {
	l := &Local{handler: h}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// errLocalClosed is why requests end when Local is closed.
var errLocalClosed = errors.New("the gateway in this process was closed")

// Close ends all requests and waits until their handlers have returned.
func (l *Local) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel(errLocalClosed)
	l.work.Wait()
	return nil
}

// RoundTrip calls the handler. It returns when the handler begins to answer;
// the handler goes on while the body is read. A handler that panics gives an
// error, here or from the body, whichever is still to come.
func (l *Local) RoundTrip(r *http.Request) (*http.Response, error) {
	if !l.begin() {
		closeBody(r)
		return nil, errLocalClosed
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	unlink := context.AfterFunc(l.ctx, func() { cancel(errLocalClosed) })
	a := newAnswer(r, cancel)
	// Who waits for bytes must hear that the context ended, and who waits for
	// somebody to read them.
	stop := context.AfterFunc(ctx, func() { a.out.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer l.work.Done()
		defer closeBody(r)
		defer unlink()
		err := serve(l.handler, a, incoming(ctx, r))
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx) // it may have left half of it out
		}
		a.finish(err)
		if stop() {
			cancel(nil) // as servers do; what was written can still be read
		}
	}()
	select {
	case <-a.begun:
		return a.response, a.early
	case <-ctx.Done():
	}
	// A handler that has answered ends the context too, and a select is free to
	// see that first.
	select {
	case <-a.begun:
		return a.response, a.early
	default:
		return nil, context.Cause(ctx)
	}
}

// begin counts a request in, unless Local is closed.
func (l *Local) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.work.Add(1)
	}
	return !l.closed
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// incoming is a request as a server sees it.
func incoming(ctx context.Context, r *http.Request) *http.Request {
	in := r.Clone(ctx)
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	in.URL.Scheme, in.URL.Host = "", ""
	in.RequestURI = in.URL.RequestURI()
	in.RemoteAddr = "@"
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// serve calls the handler and returns what it panicked with.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch fell := recover(); fell {
		case nil:
		case http.ErrAbortHandler: // on purpose: the connection breaks
			err = io.ErrUnexpectedEOF
		default:
			err = &panicked{value: fell}
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// panicked says that a handler panicked.
type panicked struct{ value any }

// Error names what it panicked with.
func (p *panicked) Error() string { return fmt.Sprintf("the gateway failed inside: %v", p.value) }

// answer is what a handler writes into and a caller reads from.
type answer struct {
	request *http.Request
	header  http.Header // the handler's
	in      *io.PipeReader
	out     *io.PipeWriter

	begun    chan struct{} // closed when the response, or early, is there
	started  bool
	response *http.Response
	early    error // of a handler that ended badly before it began to answer
	// left is how many bytes may still be written, by the length that the
	// handler promised; -1 if it did not.
	left int64
}

func newAnswer(r *http.Request, cancel context.CancelCauseFunc) *answer {
	a := &answer{request: r, header: make(http.Header), begun: make(chan struct{}), left: -1}
	a.in, a.out = io.Pipe()
	a.response = &http.Response{Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1}
	a.response.Body = &body{PipeReader: a.in, cancel: cancel}
	return a
}

// body is the body of an answer; closing it ends the request.
type body struct {
	*io.PipeReader
	cancel context.CancelCauseFunc
}

// Close tells the handler that nobody listens any more.
func (b *body) Close() error {
	b.cancel(context.Canceled)
	return b.PipeReader.Close()
}

// Header returns the header that will be sent.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader begins the answer. The first call counts.
func (a *answer) WriteHeader(code int) {
	if a.started || code < 200 {
		return // early hints are for browsers
	}
	a.started = true
	a.response.StatusCode = code
	a.response.Status = strconv.Itoa(code) + " " + http.StatusText(code)
	a.response.Header = a.header.Clone()
	if n, err := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		a.response.ContentLength, a.left = n, n
	}
	if a.bodiless() {
		a.left = 0
	}
	close(a.begun)
}

// bodiless reports whether an answer has no body by its kind.
func (a *answer) bodiless() bool {
	code := a.response.StatusCode
	return a.request.Method == http.MethodHead || code == http.StatusNoContent || code == http.StatusNotModified
}

// Write hands b to whoever reads the body. It returns when all was taken, or
// with an error when nobody will take it.
func (a *answer) Write(b []byte) (int, error) {
	if !a.started {
		if a.header.Get("Content-Type") == "" {
			a.header.Set("Content-Type", http.DetectContentType(b))
		}
		a.WriteHeader(http.StatusOK)
	}
	switch {
	case a.bodiless():
		return 0, http.ErrBodyNotAllowed
	case a.left < 0:
		return a.out.Write(b)
	case int64(len(b)) > a.left:
		return 0, http.ErrContentLength
	}
	n, err := a.out.Write(b)
	a.left -= int64(n)
	return n, err
}

// Flush begins the answer: all that was written is on its way already.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// finish ends the answer, badly if err says so.
func (a *answer) finish(err error) {
	if err != nil && !a.started {
		a.early, a.response = err, nil
		a.started = true
		close(a.begun)
	}
	a.WriteHeader(http.StatusOK)
	if err == nil && a.left > 0 && !a.bodiless() {
		err = io.ErrUnexpectedEOF // less than it promised
	}
	a.out.CloseWithError(err)
}
