package limits

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"firn/internal/vfs"
)

// Pool is the file descriptors of a process that have run short: it has idle
// ones given up, lets calls try again, and reports the shortage until it is
// over. The zero value is ready.
type Pool struct {
	mu     sync.Mutex
	givers []*giver
	// failed is the latest call that got no descriptor though it was retried.
	failed   error
	failedAt time.Time
	// open and wait are for tests; nil means a pipe and time.Sleep.
	open func() (func() error, error)
	wait func(time.Duration)
}

// giver closes idle files and returns how many.
type giver struct{ give func() int }

// OnShort registers a function that closes idle files and returns how many
// descriptors that freed. It is called from any call that finds none left, with
// whatever that holds, so it must not wait for a lock that is held while files
// are opened. Remove takes it out again.
func (p *Pool) OnShort(give func() int) (remove func()) {
	g := &giver{give}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.givers = append(p.givers, g)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, other := range p.givers {
			if other == g {
				p.givers = append(p.givers[:i:i], p.givers[i+1:]...)
				return
			}
		}
	}
}

// Free has idle descriptors given up and returns how many.
func (p *Pool) Free() int {
	p.mu.Lock()
	givers := p.givers
	p.mu.Unlock()
	freed := 0
	for _, g := range givers {
		freed += g.give()
	}
	return freed
}

// How often a call is tried again for want of a descriptor, and how long the
// first and the longest pause is: about two seconds in all. What holds the
// others is mostly open for moments.
const (
	tries      = 16
	firstPause = time.Millisecond
	mostPause  = 200 * time.Millisecond
)

// Retry calls fn, and again while it fails for want of a descriptor, after
// idle ones were given up. The error is that of the last call.
func (p *Pool) Retry(fn func() error) error {
	err := fn()
	pause := firstPause
	for try := 1; IsShort(err) && try < tries; try++ {
		if p.Free() == 0 {
			p.sleep(pause)
			pause = min(2*pause, mostPause)
		}
		err = fn()
	}
	if IsShort(err) {
		p.mu.Lock()
		p.failed, p.failedAt = err, time.Now()
		p.mu.Unlock()
	}
	return err
}

func (p *Pool) sleep(d time.Duration) {
	if p.wait != nil {
		p.wait(d)
		return
	}
	time.Sleep(d)
}

// spare is how many descriptors must be free for the process to be able to
// work: a request that appends opens its transcript, the next part, the table of
// keys and a directory.
const spare = 4

// remembered is how long after a call has failed for want of a descriptor the
// pool is called short, though there are some again.
const remembered = 5 * time.Second

// Short reports why the process cannot be relied on: it has fewer than a few
// descriptors left, or a call failed for want of one moments ago. It is nil if
// neither is so.
func (p *Pool) Short() error {
	err := p.probe()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.failed != nil && time.Since(p.failedAt) < remembered {
		err = p.failed
	}
	if err != nil {
		return fmt.Errorf("file descriptors are short (the limit is %d): %w", Descriptors(), err)
	}
	return nil
}

// probe takes the spare descriptors, two at a time, and gives them back.
func (p *Pool) probe() (err error) {
	open := p.open
	if open == nil {
		open = openPipe
	}
	for range spare / 2 {
		closeFile, openErr := open()
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, closeFile()) }()
	}
	return nil
}

// FS returns fsys with every call that needs a descriptor retried.
func (p *Pool) FS(fsys vfs.FS) vfs.FS { return retryFS{fsys, p} }
