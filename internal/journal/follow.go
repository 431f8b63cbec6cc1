package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"firn"
	"firn/internal/vfs"
)

// followPoll is how often a follower looks by itself. The system tells of
// changes sooner; polling is for file systems that do not.
const followPoll = 500 * time.Millisecond

// Follow yields the lines after a position, oldest first, and then those that
// are added, across parts, until the context is done. A line is yielded once
// it has its newline; up to then it is read again as it grows, all else is read
// once.
func (s Source) Follow(ctx context.Context, hub *Hub, after firn.Pos) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		wake, cancel := hub.subscribe(s.Path)
		defer cancel()
		f := &follower{source: s, at: after}
		defer f.close()
		f.part, f.offset = Split(after)
		defer hub.enlist(f)()
		poll := time.NewTicker(followPoll)
		defer poll.Stop()
		for {
			f.idle.Lock()
			more := f.drain(yield)
			f.idle.Unlock()
			if !more {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-wake:
			case <-poll.C:
			}
		}
	}
}

// follower is where a follower has got to.
type follower struct {
	// idle is free while the follower waits for more: then anyone may close its
	// file, which is opened again when it is needed.
	idle   sync.Mutex
	source Source
	part   int
	offset int64
	at     firn.Pos
	file   vfs.File
	// seen is the present part as it was found, stuck whether it had an
	// unfinished line at its end: which is not read again until it changes.
	seen  vfs.Info
	stuck bool
	// clear is how far an unfinished line over the limit was looked through.
	clear int64
}

// drain yields what there is; false means to stop.
func (f *follower) drain(yield func(Line, error) bool) bool {
	for {
		// Whether there is a next part is asked before this one is read to its
		// end: nothing is added to a part once the next one is there.
		rolled, err := f.rolled()
		if err != nil {
			yield(Line{}, err)
			return false
		}
		if !f.drainPart(yield) {
			return false
		}
		if rolled == 0 {
			return true
		}
		f.close()
		f.part, f.offset, f.seen, f.clear = rolled, 0, vfs.Info{}, 0
	}
}

// rolled returns the number of the part after the present one, 0 if none.
func (f *follower) rolled() (int, error) {
	parts, err := partsFrom(f.source.FS, f.source.Path, f.part+1)
	if err != nil || len(parts) == 0 {
		return 0, err
	}
	return parts[0].Number, nil
}

func (f *follower) drainPart(yield func(Line, error) bool) bool {
	ok, err := f.open()
	if err != nil {
		yield(Line{}, err)
		return false
	}
	if !ok {
		return true
	}
	lines := forward{file: f.file, part: f.part, offset: f.offset, at: f.at, limit: f.source.maxLine(), clear: f.clear}
	for {
		line, err := lines.next()
		if f.stuck = err == nil && line.Open; f.stuck || err == io.EOF {
			if f.stuck && line.Gap == firn.GapTooLong {
				f.clear = lines.offset
			}
			return true
		}
		if err != nil {
			yield(Line{}, fmt.Errorf("follow %s: %w", f.source.Path, err))
			return false
		}
		f.offset, f.at = lines.offset, lines.at
		if !yield(line, nil) {
			return false
		}
	}
}

// open opens the present part, or sees that it is still the same file. It
// reports whether there is anything new in it.
func (f *follower) open() (bool, error) {
	path := PartPath(f.source.Path, f.part)
	info, err := f.source.FS.Stat(path)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("follow %s: %w", path, err)
	case f.part == 0 && f.file == nil && f.seen.Inode == 0 && f.offset == 0:
		return false, fmt.Errorf("follow %s: %w", path, firn.ErrNotFound)
	default:
		return false, fmt.Errorf("follow %s: %w: it was deleted", path, firn.ErrReplaced)
	}
	f.clear = min(f.clear, info.Size)
	if info.Size < f.offset {
		return false, fmt.Errorf("follow %s: %w: it was cut from %d bytes to %d", path, firn.ErrReplaced, f.offset, info.Size)
	}
	if f.file == nil && f.seen.Inode != 0 && !f.seen.Same(info) {
		return false, fmt.Errorf("follow %s: %w: another file is in its place", path, firn.ErrReplaced)
	}
	if f.file == nil {
		file, err := f.source.FS.Open(path, vfs.Read)
		if err != nil {
			return false, fmt.Errorf("follow %s: %w", path, err)
		}
		f.file = file
	} else if mine, err := f.file.Stat(); err != nil || !mine.Same(info) {
		return false, fmt.Errorf("follow %s: %w: another file is in its place", path, firn.ErrReplaced)
	}
	changed := info.Size != f.seen.Size || !info.ModTime.Equal(f.seen.ModTime) || !info.Same(f.seen)
	f.seen = info
	return info.Size > f.offset && (changed || !f.stuck), nil
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close() // only read
		f.file = nil
	}
}

// Hub tells followers that a journal was added to: by this process, which says
// so with [Hub.Notify], or by another one, which the system tells us. A nil Hub
// tells nothing; followers then poll.
type Hub struct {
	mu      sync.Mutex
	subs    map[string]map[chan struct{}]bool // by base path
	dirs    map[string]int                    // how many subscribers a watched directory has
	open    map[*follower]bool                // that may have a file open
	watcher *fsnotify.Watcher
	done    chan struct{}
	closed  bool
}

// NewHub makes a hub. It must be closed.
func NewHub() *Hub {
	return &Hub{subs: make(map[string]map[chan struct{}]bool), dirs: make(map[string]int), open: make(map[*follower]bool)}
}

// enlist notes that a follower may have a file open, until done is called.
func (h *Hub) enlist(f *follower) (done func()) {
	if h == nil {
		return func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[f] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.open, f)
	}
}

// CloseIdle closes the files of followers that wait for more, and returns how
// many: for a process that has no file descriptor left. They are opened again
// when there is more. It waits for no follower.
func (h *Hub) CloseIdle() int {
	if h == nil || !h.mu.TryLock() {
		return 0
	}
	defer h.mu.Unlock()
	n := 0
	for f := range h.open {
		if !f.idle.TryLock() {
			continue
		}
		if f.file != nil {
			f.close()
			n++
		}
		f.idle.Unlock()
	}
	return n
}

// Notify wakes the followers of the journal at base.
func (h *Hub) Notify(base string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subs) == 0 {
		return
	}
	base = filepath.Clean(base) // the system has its own way to spell a name
	for ch := range h.subs[base] {
		select {
		case ch <- struct{}{}:
		default: // it has been told and not looked yet
		}
	}
}

// subscribe returns a channel that receives after the journal was added to.
func (h *Hub) subscribe(base string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	if h == nil {
		return ch, func() {}
	}
	base = filepath.Clean(base)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ch, func() {}
	}
	if h.subs[base] == nil {
		h.subs[base] = make(map[chan struct{}]bool)
	}
	h.subs[base][ch] = true
	dir := filepath.Dir(base)
	if h.dirs[dir]++; h.dirs[dir] == 1 {
		h.watch(dir)
	}
	return ch, func() { h.unsubscribe(base, ch) }
}

func (h *Hub) unsubscribe(base string, ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs[base], ch)
	if len(h.subs[base]) == 0 {
		delete(h.subs, base)
	}
	dir := filepath.Dir(base)
	if h.dirs[dir]--; h.dirs[dir] == 0 {
		delete(h.dirs, dir)
		if h.watcher != nil {
			_ = h.watcher.Remove(dir) // it is watched no more, or never was
		}
	}
}

// watch asks the system to tell of changes in a directory. Where it cannot,
// followers poll.
func (h *Hub) watch(dir string) {
	if h.watcher == nil {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			return
		}
		h.watcher, h.done = watcher, make(chan struct{})
		go h.run(watcher, h.done)
	}
	_ = h.watcher.Add(dir) // else polling must do
}

// run passes the system's events on until the watcher is closed.
func (h *Hub) run(watcher *fsnotify.Watcher, done chan struct{}) {
	defer close(done)
	for {
		select {
		case event, ok := <-watcher.Events:
			if !ok {
				return
			}
			if event.Op != fsnotify.Chmod {
				h.Notify(BasePath(event.Name))
			}
		case _, ok := <-watcher.Errors:
			if !ok {
				return
			}
			h.notifyAll() // events may have been lost
		}
	}
}

func (h *Hub) notifyAll() {
	h.mu.Lock()
	bases := make([]string, 0, len(h.subs))
	for base := range h.subs {
		bases = append(bases, base)
	}
	h.mu.Unlock()
	for _, base := range bases {
		h.Notify(base)
	}
}

// Close stops watching and waits until it has.
func (h *Hub) Close() error {
	h.mu.Lock()
	watcher, done := h.watcher, h.done
	h.watcher, h.closed = nil, true
	h.mu.Unlock()
	if watcher == nil {
		return nil
	}
	err := watcher.Close()
	<-done
	return err
}
