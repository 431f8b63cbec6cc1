// Package hangup lets a client close its stream before its requests are answered: it may
// send all requests, end its input, and then read the responses. It handles line-delimited
// JSON-RPC and only distinguishes requests from responses.
package hangup

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strconv"
	"sync"

	"firn.dev/internal/base/rawjson"
)

// Wait returns streams that wrap in and out. The input ends only when every request was
// answered on out. Requests for the methods in except may take long and are not waited for:
// a client that hangs up no longer wants their responses.
func Wait(in io.Reader, out io.WriteCloser, except ...string) (io.Reader, io.WriteCloser) {
	p := &pending{asked: make(map[string]int), except: except}
	p.settled.L = &p.mu
	to := &speaker{WriteCloser: out, pending: p}
	return &listener{in: bufio.NewReader(in), pending: p, out: to}, to
}

// pending counts the requests that were read and not yet answered.
type pending struct {
	mu      sync.Mutex
	settled sync.Cond
	asked   map[string]int
	open    int
	except  []string
	deaf    bool // set once responses can no longer be written
}

// note records a message: a request adds one to the pending responses, a response removes
// one.
func (p *pending) note(line []byte, asks bool) {
	var id, method string
	r := rawjson.New(line)
	if !r.Object() {
		return
	}
	for r.Member() {
		switch string(r.Key()) {
		case "id":
			id = string(r.Raw())
		case "method":
			var ok bool
			if method, ok = r.Text(); !ok {
				r.Skip()
			}
		default:
			r.Skip()
		}
	}
	if r.End() != nil || id == "" || id == "null" || (method != "") != asks || slices.Contains(p.except, method) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if asks {
		p.asked[id]++
		p.open++
	} else if p.asked[id] > 0 {
		p.asked[id]--
		p.open--
	}
	p.settled.Broadcast()
}

// wait blocks until all requests are answered or can no longer be.
func (p *pending) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.open > 0 && !p.deaf {
		p.settled.Wait()
	}
}

// listener reads requests line by line and records them.
type listener struct {
	in      *bufio.Reader
	pending *pending
	out     *speaker
	// line is the part of the current line not yet returned by Read.
	line []byte
	err  error
}

// Read returns the next bytes of the input. A line with a duplicate object member is
// answered with an error and not passed on, because decoders differ in which of the two
// they use.
func (l *listener) Read(b []byte) (int, error) {
	for len(l.line) == 0 {
		if l.err != nil {
			if l.err == io.EOF {
				l.pending.wait()
			}
			return 0, l.err
		}
		l.line, l.err = l.in.ReadBytes('\n')
		if refused := rawjson.CheckUnique(l.line, true); refused != nil {
			l.out.refuse(l.line, refused)
			l.line = nil
			continue
		}
		l.pending.note(bytes.TrimSuffix(l.line, []byte{'\n'}), true)
	}
	n := copy(b, l.line)
	l.line = l.line[n:]
	return n, nil
}

// speaker writes responses and records them.
type speaker struct {
	io.WriteCloser
	pending *pending

	mu   sync.Mutex
	part []byte
	// refusals are error responses of this package, queued until the current line ends.
	refusals []byte
}

// Write writes responses and records each complete line.
func (s *speaker) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.WriteCloser.Write(b)
	if err != nil {
		s.pending.mu.Lock()
		s.pending.deaf = true
		s.pending.settled.Broadcast()
		s.pending.mu.Unlock()
		return n, err
	}
	s.part = append(s.part, b...)
	for {
		line, rest, whole := bytes.Cut(s.part, []byte{'\n'})
		if !whole {
			s.flush()
			return n, nil
		}
		s.pending.note(line, false)
		s.part = append(s.part[:0], rest...)
	}
}

// refuse answers a request with an error.
func (s *speaker) refuse(line []byte, why error) {
	const invalidRequest = -32600 // the code of JSON-RPC
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := append([]byte(`{"jsonrpc":"2.0","id":`), idOf(line)...)
	answer = strconv.AppendInt(append(answer, `,"error":{"code":`...), invalidRequest, 10)
	answer = rawjson.AppendString(append(answer, `,"message":`...), "request rejected: "+why.Error())
	s.refusals = append(append(s.refusals, answer...), "}}\n"...)
	s.flush()
}

// flush writes the refusals, unless a response is partially written.
func (s *speaker) flush() {
	if len(s.part) == 0 && len(s.refusals) > 0 {
		_, _ = s.WriteCloser.Write(s.refusals) // a client that is gone needs no response
		s.refusals = nil
	}
}

// idOf returns the ID of a request, or null if it has none or several.
func idOf(line []byte) []byte {
	id, count := []byte("null"), 0
	r := rawjson.New(line)
	if !r.Object() {
		return id
	}
	for r.Member() {
		kind := r.Kind()
		value := r.Raw()
		if string(r.Key()) == "id" {
			count++
			if kind == rawjson.String || kind == rawjson.Number {
				id = value
			}
		}
	}
	if r.End() != nil || count != 1 {
		return []byte("null")
	}
	return id
}
