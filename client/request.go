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

// The types of bodies.
const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
	typeLines  = "application/x-ndjson"
)

// maxFailure bounds what is read of an answer that is a failure.
const maxFailure = 1 << 20

// request is a question to the gateway.
type request struct {
	method string
	path   []string // segments, not yet escaped
	query  url.Values
	header http.Header
	body   any       // becomes JSON; nil for none
	stream io.Reader // lines that are sent as they are, instead of a body
	tries  int       // how often it may be sent; zero means once
}

// get is a question that may be asked again.
func get(path ...string) request {
	return request{method: http.MethodGet, path: path, tries: 4}
}

// post asks for something to be done, once.
func post(body any, path ...string) request {
	if body == nil {
		body = struct{}{}
	}
	return request{method: http.MethodPost, path: path, body: body, tries: 1}
}

// named is a question that names what it brings, so that it may be asked once
// more if the answer got lost.
func (r request) named() request {
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

// doing names the request in errors. It leaves out the query, which may hold
// what people search for.
func (r request) doing() string { return r.method + " " + r.escapedPath() }

func (r request) escapedPath() string {
	var b strings.Builder
	for _, segment := range r.path {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(segment))
	}
	return b.String()
}

// check refuses segments that would make another path of it.
func (r request) check() error {
	for _, segment := range r.path {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("%s: %w name %q", r.doing(), firn.ErrInvalid, segment)
		}
	}
	return nil
}

// ask sends a request and decodes the answer, which is JSON.
func ask[T any](ctx context.Context, c *Client, r request) (T, error) {
	var answer T
	body, err := encodeBody(r)
	if err != nil {
		return answer, err
	}
	for try := 0; ; try++ {
		data, err := c.fetch(ctx, r, body)
		if err == nil {
			if err = json.Unmarshal(data, &answer); err != nil {
				return answer, c.stranger(r.doing(), "the answer is not what was asked for: "+err.Error())
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

// encodeBody makes the body of a request. It does not escape what only pages
// must escape: lines of a transcript travel as they are.
func encodeBody(r request) ([]byte, error) {
	if err := r.check(); err != nil || r.body == nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.body); err != nil {
		return nil, fmt.Errorf("%s: write the request as JSON: %w: %w", r.doing(), firn.ErrInvalid, err)
	}
	return b.Bytes(), nil
}

// worthRepeating tells whether another try may end better: the connection
// broke, or, for a read, the gateway is overloaded or being restarted.
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

// fetch sends a request once and reads the whole answer.
func (c *Client) fetch(ctx context.Context, r request, body []byte) ([]byte, error) {
	response, err := c.send(ctx, r, body, typeJSON)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, c.broken(ctx, r, err)
	}
	if response.StatusCode == http.StatusNoContent {
		return []byte("null"), nil
	}
	return data, nil
}

// send sends a request once. It returns an answer that is no failure and is of
// the wanted type; its body is the caller's to close.
func (c *Client) send(ctx context.Context, r request, body []byte, want string) (*http.Response, error) {
	target := c.base + r.escapedPath()
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	reader, content := r.stream, typeLines
	if body != nil {
		reader, content = bytes.NewReader(body), typeJSON
	}
	q, err := http.NewRequestWithContext(ctx, r.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", r.doing(), firn.ErrInvalid, err)
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
		return nil, c.broken(ctx, r, err)
	}
	if err := c.judge(r, response, want); err != nil {
		response.Body.Close()
		return nil, err
	}
	return response, nil
}

// broken tells why there is no answer: the caller does not wait any more, the
// handler in this process failed, or the connection did.
func (c *Client) broken(ctx context.Context, r request, err error) error {
	var fell *panicked
	if errors.As(err, &fell) {
		return &wire.Problem{Kind: wire.Internal, Message: r.doing() + ": " + fell.Error()}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", r.doing(), context.Cause(ctx))
	}
	return c.unreachable(r.doing(), err)
}

// judge turns an answer that is not what we want into an error.
func (c *Client) judge(r request, response *http.Response, want string) error {
	if response.StatusCode/100 == 2 {
		got := mediaType(response)
		if response.StatusCode == http.StatusNoContent || got == want {
			return nil
		}
		return c.stranger(r.doing(), fmt.Sprintf("the answer is of type %q, not %s", got, want))
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxFailure))
	if err != nil {
		data = nil // the status is all there is
	}
	var failure wire.Failure
	if json.Unmarshal(data, &failure) == nil && failure.Error.Kind != "" {
		return later(response, &failure.Error)
	}
	return c.unexplained(r, response)
}

// postponed is a problem for which the gateway said when to ask again.
type postponed struct {
	*wire.Problem
	after time.Duration
}

// Unwrap returns the problem.
func (p *postponed) Unwrap() error { return p.Problem }

// mostPostponed bounds how long a gateway can make a client wait.
const mostPostponed = 30 * time.Second

// later returns the problem of an answer, with the time of its Retry-After.
func later(response *http.Response, p *wire.Problem) error {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return p
	}
	return &postponed{p, min(time.Duration(seconds)*time.Second, mostPostponed)}
}

func mediaType(response *http.Response) string {
	t, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return response.Header.Get("Content-Type")
	}
	return t
}

// unexplained makes an error of a failure that does not say what it is: the
// page of a proxy, or a program that is no gateway.
func (c *Client) unexplained(r request, response *http.Response) error {
	code := response.StatusCode
	what := fmt.Sprintf("%d %s, and no reason", code, strings.ToLower(http.StatusText(code)))
	switch code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		u := c.stranger(r.doing(), "what stands before it answers "+what)
		u.Hint = hintRetry
		return u
	}
	kind, ok := kindOfStatus[code]
	if !ok {
		return c.stranger(r.doing(), "the answer is "+what)
	}
	return &wire.Problem{Kind: kind, Message: fmt.Sprintf("%s at %s: the answer is %s", r.doing(), c.address, what), Hint: hintOther}
}

// kindOfStatus is for failures that have a status and nothing more.
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

// pauses are the pauses between tries: they double from first to most.
type pauses struct {
	first, most time.Duration
}

// usualPauses wait 0.7 s in all for a read, and 5 s at most between two tries of
// one who follows events.
var usualPauses = pauses{first: 100 * time.Millisecond, most: 5 * time.Second}

// wait waits before the try after the given one, which counts from zero. It
// returns an error if the context ends before.
func (p pauses) wait(ctx context.Context, try int) error { return p.waitFor(ctx, try, nil) }

// waitFor is wait, and at least as long as the gateway asked for with the error.
func (p pauses) waitFor(ctx context.Context, try int, err error) error {
	d := p.most
	if try < 16 {
		d = min(p.first<<try, p.most)
	}
	var said *postponed
	if errors.As(err, &said) {
		d = max(d, said.after)
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
