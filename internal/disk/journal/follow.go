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

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// followPoll is the polling interval of a follower. Notifications arrive sooner; polling
// covers file systems that do not send them.
const followPoll = 500 * time.Millisecond

// Follow yields the lines after a position, oldest first, and then new lines as they are
// appended, across parts, until the context is done. A line is yielded when it has its
// newline. Only an unfinished line is read repeatedly as it grows.
func (s Source) Follow(ctx context.Context, hub *Hub, after firn.Pos) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		wake, cancel := hub.subscribe(s.Path)
		defer cancel()
		f := &follower{source: s, at: after}
		defer f.close()
		f.part, f.offset = Split(after)
		defer hub.register(f)()
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

// follower is the state of one Follow call.
type follower struct {
	// idle is unlocked while the follower waits for more lines. Its file may then be
	// closed; it is reopened when needed.
	idle   sync.Mutex
	source Source
	part   int
	offset int64
	at     firn.Pos
	file   vfs.File
	// seen is the current part as it was last found. stuck is set if it ended in an
	// unfinished line, which is not read again until the part changes.
	seen  vfs.Info
	stuck bool
	// clear is the offset up to which an unfinished line over the limit has been scanned.
	clear int64
}

// drain yields all available lines; it returns false if the caller stopped.
func (f *follower) drain(yield func(Line, error) bool) bool {
	for {
		// Check for a next part before reading this one to its end: nothing is appended to
		// a part once the next one exists.
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

// rolled returns the number of the part after the current one, 0 if there is none.
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
		if f.stuck = err == nil && line.Unfinished; f.stuck || err == io.EOF {
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

// open opens the current part, or checks that it is still the same file. It reports whether
// there is new data in it.
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
		f.file.Close() // read-only
		f.file = nil
	}
}

// Hub notifies followers of appends to a journal: those of this process through
// [Hub.Notify], those of other processes through file system events. With a nil Hub,
// followers poll.
type Hub struct {
	mu      sync.Mutex
	subs    map[string]map[chan struct{}]bool // by base path
	dirs    map[string]int                    // number of subscribers per watched directory
	open    map[*follower]bool                // followers that may have a file open
	watcher *fsnotify.Watcher
	done    chan struct{}
	closed  bool
}

// NewHub returns a hub. It must be closed.
func NewHub() *Hub {
	return &Hub{subs: make(map[string]map[chan struct{}]bool), dirs: make(map[string]int), open: make(map[*follower]bool)}
}

// register adds a follower that may have a file open. Calling done removes it.
func (h *Hub) register(f *follower) (done func()) {
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

// CloseIdle closes the files of followers that wait for more lines, and returns their
// number. It is for a process that has run out of file descriptors. The files are reopened
// when there are new lines. It does not wait for any follower.
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
	base = filepath.Clean(base) // file system events have cleaned paths
	for ch := range h.subs[base] {
		select {
		case ch <- struct{}{}:
		default: // a notification is already pending
		}
	}
}

// subscribe returns a channel that receives after each append to the journal.
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
			_ = h.watcher.Remove(dir) // an error means that it is not watched
		}
	}
}

// watch watches a directory for changes. If that fails, followers poll.
func (h *Hub) watch(dir string) {
	if h.watcher == nil {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			return
		}
		h.watcher, h.done = watcher, make(chan struct{})
		go h.run(watcher, h.done)
	}
	_ = h.watcher.Add(dir) // on error, followers poll
}

// run forwards file system events until the watcher is closed.
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

// Close stops watching and waits until the watcher has stopped.
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
