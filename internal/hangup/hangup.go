// Package hangup lets a program hang up before it was answered: it may send all
// it has to ask, end its stream, and then read the answers. It knows JSON-RPC in
// lines, and of that only what is a request and what an answer.
package hangup

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"firn/internal/rawjson"
)

// Wait makes a stream of requests end only once every one of them was answered
// on out. Methods that are excepted may take long, and are not waited for: who
// asks for them and hangs up wants them no more.
func Wait(in io.Reader, out io.WriteCloser, except ...string) (io.Reader, io.WriteCloser) {
	p := &pending{asked: make(map[string]int), except: except}
	p.settled.L = &p.mu
	return &listener{in: in, pending: p}, &speaker{WriteCloser: out, pending: p}
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
	in      io.Reader
	pending *pending
	part    []byte
}

// Read reads on.
func (l *listener) Read(b []byte) (int, error) {
	n, err := l.in.Read(b)
	l.part = append(l.part, b[:n]...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte{'\n'})
		if !whole {
			break
		}
		l.pending.note(line, true)
		l.part = append(l.part[:0], rest...)
	}
	if err == io.EOF && n == 0 {
		l.pending.note(l.part, true)
		l.part = nil
		l.pending.wait()
	}
	return n, err
}

// speaker writes answers, and takes notice of them.
type speaker struct {
	io.WriteCloser
	pending *pending
	part    []byte
}

// Write writes.
func (s *speaker) Write(b []byte) (int, error) {
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
			return n, nil
		}
		s.pending.note(line, false)
		s.part = append(s.part[:0], rest...)
	}
}
