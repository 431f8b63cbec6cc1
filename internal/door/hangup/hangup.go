// Package hangup lets a program hang up before it was answered: it may send all
// it has to ask, end its stream, and then read the answers. It knows JSON-RPC in
// lines, and of that only what is a request and what an answer.
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

// Wait makes a stream of requests end only once every one of them was answered
// on out. Methods that are excepted may take long, and are not waited for: who
// asks for them and hangs up wants them no more.
func Wait(in io.Reader, out io.WriteCloser, except ...string) (io.Reader, io.WriteCloser) {
	p := &pending{asked: make(map[string]int), except: except}
	p.settled.L = &p.mu
	to := &speaker{WriteCloser: out, pending: p}
	return &listener{in: bufio.NewReader(in), pending: p, out: to}, to
}

// pending are the requests that were read and not yet answered.
type pending struct {
	mu      sync.Mutex
	settled sync.Cond
	asked   map[string]int
	open    int
	except  []string
	deaf    bool // nobody reads the answers any more
}

// note takes notice of a message: a request is one more to be answered, an
// answer one less.
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

// wait waits until all that was asked is answered, or cannot be.
func (p *pending) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.open > 0 && !p.deaf {
		p.settled.Wait()
	}
}

// listener reads requests, and takes notice of them line by line.
type listener struct {
	in      *bufio.Reader
	pending *pending
	out     *speaker
	// line is what is left of a line that was read and not yet handed on.
	line []byte
	err  error
}

// Read reads on. A line in which an object has a member twice is answered with an
// error and not handed on: decoders differ in which of the two they take.
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

// speaker writes answers, and takes notice of them.
type speaker struct {
	io.WriteCloser
	pending *pending

	mu   sync.Mutex
	part []byte
	// refusals are answers of our own that wait for the end of a line.
	refusals []byte
}

// Write writes.
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
	const invalidRequest = -32600 // as JSON-RPC has it
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := append([]byte(`{"jsonrpc":"2.0","id":`), idOf(line)...)
	answer = strconv.AppendInt(append(answer, `,"error":{"code":`...), invalidRequest, 10)
	answer = rawjson.AppendString(append(answer, `,"message":`...), "the request is refused: "+why.Error())
	s.refusals = append(append(s.refusals, answer...), "}}\n"...)
	s.flush()
}

// flush writes the refusals, unless an answer is being written.
func (s *speaker) flush() {
	if len(s.part) == 0 && len(s.refusals) > 0 {
		_, _ = s.WriteCloser.Write(s.refusals) // who is gone needs no answer
		s.refusals = nil
	}
}

// idOf is the id of a request; null if it has none, or several.
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
