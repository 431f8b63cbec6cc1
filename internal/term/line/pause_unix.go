//go:build unix

package line

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// pausable reads from a terminal and can be paused, which a blocking read cannot. It waits
// for input and for the wake pipe with select, since some systems cannot poll a terminal.
type pausable struct {
	in         *os.File
	wake, stop *os.File // the two ends of a pipe
	// mu is held while waiting and reading, and while paused.
	mu sync.Mutex
	// ended is true if there is nothing more to read.
	ended bool
}

// newPausable returns a reader of in; nil if it cannot be paused.
func newPausable(in *os.File) *pausable {
	wake, stop, err := os.Pipe()
	if err != nil {
		return nil
	}
	p := &pausable{in: in, wake: wake, stop: stop}
	if int(wake.Fd()) >= unix.FD_SETSIZE || int(in.Fd()) >= unix.FD_SETSIZE {
		p.close()
		return nil
	}
	return p
}

// Read reads input. While paused, it waits; after end, it returns io.EOF.
func (p *pausable) Read(b []byte) (int, error) {
	for {
		p.mu.Lock()
		if p.ended {
			p.mu.Unlock()
			return 0, io.EOF
		}
		ready, err := p.wait()
		if ready || err != nil {
			n, err := p.in.Read(b)
			p.mu.Unlock()
			return n, err
		}
		p.mu.Unlock() // pause takes it
	}
}

// wait waits for input or for a pause. It returns false for the latter.
func (p *pausable) wait() (bool, error) {
	in, wake := int(p.in.Fd()), int(p.wake.Fd())
	for {
		var set unix.FdSet
		set.Set(in)
		set.Set(wake)
		_, err := unix.Select(max(in, wake)+1, &set, nil, nil, nil)
		if err == unix.EINTR {
			continue
		}
		return err == nil && !set.IsSet(wake), err
	}
}

// pause stops reading until resume is called.
func (p *pausable) pause() (resume func()) {
	if _, err := p.stop.Write([]byte{0}); err != nil {
		return func() {}
	}
	p.mu.Lock()
	var b [1]byte
	_, _ = p.wake.Read(b[:]) // it has the byte written above
	return p.mu.Unlock
}

// end ends a pending read and all later ones, and releases the pipe. It may be called once,
// and not while paused.
func (p *pausable) end() {
	resume := p.pause()
	p.ended = true
	p.close()
	resume()
}

// close releases the pipe.
func (p *pausable) close() {
	_ = p.wake.Close() // nothing was written
	_ = p.stop.Close()
}
