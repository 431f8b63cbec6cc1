package limits

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"firn.dev/internal/disk/vfs"
)

// Pool handles a shortage of file descriptors in a process: it closes idle files, retries
// calls, and reports the shortage until it is over. The zero value is ready to use.
type Pool struct {
	mu     sync.Mutex
	givers []*giver
	// failed is the error of the latest call that got no descriptor despite retries.
	failed   error
	failedAt time.Time
	// open and wait are for tests; nil means a pipe and time.Sleep.
	open func() (func() error, error)
	wait func(time.Duration)
}

// giver closes idle files and returns their number.
type giver struct{ give func() int }

// OnShort registers a function that closes idle files and returns the number of descriptors
// freed. It is called from any call that finds no descriptor, with the locks that the
// caller holds, so it must not wait for a lock that is held while files are opened. remove
// unregisters it.
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

// Free closes idle files and returns the number of descriptors freed.
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

// Number of retries for lack of a descriptor, and the first and the longest pause: about
// two seconds in total. Most other files are open only briefly.
const (
	tries      = 16
	firstPause = time.Millisecond
	mostPause  = 200 * time.Millisecond
)

// Retry calls fn, and retries it while it fails for lack of a descriptor, after closing
// idle files. It returns the error of the last call.
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

// spare is the number of free descriptors that the process needs to work: a request that
// appends opens its transcript, the next part, the key table and a directory.
const spare = 4

// shortFor is how long after a call failed for lack of a descriptor the pool reports a
// shortage, even if descriptors are available again.
const shortFor = 5 * time.Second

// Short returns an error if the process has too few descriptors left, or if a call recently
// failed for lack of one.
func (p *Pool) Short() error {
	err := p.probe()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.failed != nil && time.Since(p.failedAt) < shortFor {
		err = p.failed
	}
	if err != nil {
		return fmt.Errorf("file descriptors are short (the limit is %d): %w", Descriptors(), err)
	}
	return nil
}

// probe opens the spare descriptors, two at a time, and closes them.
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
