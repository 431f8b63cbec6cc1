package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// The content types of bodies.
const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
	typeLines  = "application/x-ndjson"
	typeBytes  = "application/octet-stream"
)

// maxFailure is the maximum number of bytes read from an error response.
const maxFailure = 1 << 20

// request is a request to the gateway.
type request struct {
	method string
	path   []string // segments, not yet escaped
	query  url.Values
	header http.Header
	body   any       // encoded as JSON; nil for none
	stream io.Reader // raw lines, sent instead of a body
	bytes  bool      // the stream is not lines
	tries  int       // maximum number of attempts; zero means one
}

// get returns a read request, which may be repeated.
func get(path ...string) request {
	return request{method: http.MethodGet, path: path, tries: 4}
}

// post returns a write request, which is sent once.
func post(body any, path ...string) request {
	if body == nil {
		body = struct{}{}
	}
	return request{method: http.MethodPost, path: path, body: body, tries: 1}
}

// repeatable allows one repetition of a request whose body has an ID.
func (r request) repeatable() request {
	r.tries = 2
	return r
}

// with adds a parameter, unless it is empty.
func (r request) with(name, value string) request {
	if value != "" {
		if r.query == nil {
			r.query = make(url.Values)
		}
		r.query.Set(name, value)
	}
	return r
}

// withNumber adds a parameter, unless it is zero.
func (r request) withNumber(name string, n uint64) request {
	if n == 0 {
		return r
	}
	return r.with(name, strconv.FormatUint(n, 10))
}

// withFlag adds a parameter if it is on.
func (r request) withFlag(name string, on bool) request {
	if !on {
		return r
	}
	return r.with(name, "true")
}

// withTime adds a parameter, unless the time is zero.
func (r request) withTime(name string, t time.Time) request {
	if t.IsZero() {
		return r
	}
	return r.with(name, t.Format(time.RFC3339Nano))
}

// withHeader adds a header.
func (r request) withHeader(name, value string) request {
	r.header = r.header.Clone()
	if r.header == nil {
		r.header = make(http.Header)
	}
	r.header.Set(name, value)
	return r
}

// describe names the request in errors. It leaves out the query, which may contain search
// terms.
func (r request) describe() string { return r.method + " " + r.escapedPath() }

func (r request) escapedPath() string {
	var b strings.Builder
	for _, segment := range r.path {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(segment))
	}
	return b.String()
}

// check rejects segments that would change the path.
func (r request) check() error {
	for _, segment := range r.path {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("%s: %w name %q", r.describe(), firn.ErrInvalid, segment)
		}
	}
	return nil
}

// ask sends a request and decodes the JSON response.
func ask[T any](ctx context.Context, c *conn, r request) (T, error) {
	var answer T
	body, err := encodeBody(r)
	if err != nil {
		return answer, err
	}
	for try := 0; ; try++ {
		data, err := c.fetch(ctx, r, body)
		if err == nil {
			if err = json.Unmarshal(data, &answer); err != nil {
				return answer, c.notGateway(r.describe(), "unexpected response: "+err.Error())
			}
			return answer, nil
		}
		if try+1 >= r.tries || !worthRepeating(r, err) {
			return answer, err
		}
		if c.pauses.waitFor(ctx, try, err) != nil {
			return answer, err
		}
	}
}

// encodeBody encodes the body of a request. It does not escape HTML, so that lines of a
// transcript stay unchanged.
func encodeBody(r request) ([]byte, error) {
	if err := r.check(); err != nil || r.body == nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.body); err != nil {
		return nil, fmt.Errorf("%s: encode request: %w: %w", r.describe(), firn.ErrInvalid, err)
	}
	return b.Bytes(), nil
}

// worthRepeating reports whether a retry may succeed: the connection broke or, for a read,
// the gateway is overloaded or restarting.
func worthRepeating(r request, err error) bool {
	var lost *Unreachable
	if errors.As(err, &lost) {
		return lost.Hint != hintOther
	}
	kind := wire.KindOf(err)
	return r.method == http.MethodGet && (kind == wire.Closing || kind == wire.Busy) && isProblem(err)
}

func isProblem(err error) bool {
	var p *wire.Problem
	return errors.As(err, &p)
}

// fetch sends a request once and reads the whole response.
func (c *conn) fetch(ctx context.Context, r request, body []byte) ([]byte, error) {
	response, err := c.send(ctx, r, body, typeJSON)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, c.connectionError(ctx, r, err)
	}
	if response.StatusCode == http.StatusNoContent {
		return []byte("null"), nil
	}
	return data, nil
}

// send sends a request once. It returns a successful response of the wanted type; the
// caller must close its body.
func (c *conn) send(ctx context.Context, r request, body []byte, want string) (*http.Response, error) {
	target := c.base + r.escapedPath()
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	reader, content := r.stream, typeLines
	if r.bytes {
		content = typeBytes
	}
	if body != nil {
		reader, content = bytes.NewReader(body), typeJSON
	}
	q, err := http.NewRequestWithContext(ctx, r.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", r.describe(), firn.ErrInvalid, err)
	}
	for name, values := range r.header {
		q.Header[name] = values
	}
	q.Header.Set("Accept", want)
	q.Header.Set("User-Agent", c.agent)
	if reader != nil {
		q.Header.Set("Content-Type", content)
	}
	if c.token != "" {
		q.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(q)
	if err != nil {
		return nil, c.connectionError(ctx, r, err)
	}
	if err := c.checkResponse(r, response, want); err != nil {
		response.Body.Close()
		return nil, err
	}
	return response, nil
}

// connectionError returns the error for a missing response: the context ended, the handler
// in this process failed, or the connection broke.
func (c *conn) connectionError(ctx context.Context, r request, err error) error {
	var fell *panicError
	if errors.As(err, &fell) {
		return &wire.Problem{Kind: wire.Internal, Message: r.describe() + ": " + fell.Error()}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", r.describe(), context.Cause(ctx))
	}
	return c.unreachable(r.describe(), err)
}

// checkResponse returns an error unless the response is successful and of the wanted type,
// such as application/json or image/*.
func (c *conn) checkResponse(r request, response *http.Response, want string) error {
	if response.StatusCode/100 == 2 {
		got := mediaType(response)
		family, any := strings.CutSuffix(want, "*")
		if response.StatusCode == http.StatusNoContent || got == want || any && strings.HasPrefix(got, family) {
			return nil
		}
		return c.notGateway(r.describe(), fmt.Sprintf("the response has type %q, not %s", got, want))
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxFailure))
	if err != nil {
		data = nil // only the status is known
	}
	var failure wire.Failure
	if json.Unmarshal(data, &failure) == nil && failure.Error.Kind != "" {
		return withRetryAfter(response, &failure.Error)
	}
	return c.statusError(r, response)
}

// retryAfterError is a problem with a Retry-After time.
type retryAfterError struct {
	*wire.Problem
	after time.Duration
}

// Unwrap returns the problem.
func (p *retryAfterError) Unwrap() error { return p.Problem }

// maxRetryAfter limits the delay that a gateway can request.
const maxRetryAfter = 30 * time.Second

// withRetryAfter returns the problem of a response with its Retry-After time.
func withRetryAfter(response *http.Response, p *wire.Problem) error {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return p
	}
	return &retryAfterError{p, min(time.Duration(seconds)*time.Second, maxRetryAfter)}
}

func mediaType(response *http.Response) string {
	t, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return response.Header.Get("Content-Type")
	}
	return t
}

// statusError returns the error for a failure without a problem body, for example from a
// proxy or another server.
func (c *conn) statusError(r request, response *http.Response) error {
	code := response.StatusCode
	what := fmt.Sprintf("%d %s, without a reason", code, strings.ToLower(http.StatusText(code)))
	switch code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		u := c.notGateway(r.describe(), "a proxy responded with "+what)
		u.Hint = hintRetry
		return u
	}
	kind, ok := kindOfStatus[code]
	if !ok {
		return c.notGateway(r.describe(), "the response is "+what)
	}
	return &wire.Problem{Kind: kind, Message: fmt.Sprintf("%s at %s: the response is %s", r.describe(), c.address, what), Hint: hintOther}
}

// kindOfStatus maps the status of failures without a body.
var kindOfStatus = map[int]wire.Kind{
	http.StatusBadRequest:            wire.Invalid,
	http.StatusUnauthorized:          wire.NoToken,
	http.StatusForbidden:             wire.NotAllowed,
	http.StatusNotFound:              wire.NotFound,
	http.StatusMethodNotAllowed:      wire.Unsupported,
	http.StatusPreconditionFailed:    wire.Conflict,
	http.StatusRequestEntityTooLarge: wire.TooLarge,
	http.StatusLocked:                wire.Locked,
	http.StatusTooManyRequests:       wire.Busy,
	http.StatusInternalServerError:   wire.Internal,
	http.StatusNotImplemented:        wire.Unsupported,
	http.StatusInsufficientStorage:   wire.NotSaved,
}

// backoff holds the delays between attempts: they double from first to most.
type backoff struct {
	first, most time.Duration
}

// defaultBackoff waits 0.7 s in total for a read, and at most 5 s between two connections
// of a follower.
var defaultBackoff = backoff{first: 100 * time.Millisecond, most: 5 * time.Second}

// wait waits after an attempt, counted from zero. It returns an error if the context ends
// first.
func (p backoff) wait(ctx context.Context, try int) error { return p.waitFor(ctx, try, nil) }

// waitFor is like wait, but waits at least the Retry-After time of err.
func (p backoff) waitFor(ctx context.Context, try int, err error) error {
	d := p.most
	if try < 16 {
		d = min(p.first<<try, p.most)
	}
	var retry *retryAfterError
	if errors.As(err, &retry) {
		d = max(d, retry.after)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
