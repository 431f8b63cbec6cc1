package journal

import (
	"sync"
	"time"

	"firn.dev/internal/disk/vfs"
)

// LongLines caches the offsets of lines over the limit, so that they are scanned once and
// not by each reader. The entry of a file is valid while the file's size and modification
// time are unchanged. The zero value is ready to use and safe for concurrent use; a nil
// LongLines caches nothing.
type LongLines struct {
	mu    sync.Mutex
	files map[fileName]*longLines
}

// fileName identifies a file independently of its path.
type fileName struct{ device, inode uint64 }

// maxLongFiles bounds the number of cached files.
const maxLongFiles = 256

// longLines holds the long lines of one version of a file, from the first byte of each to
// the byte after its newline.
type longLines struct {
	size     int64
	modified time.Time

	mu     sync.Mutex
	ends   map[int64]int64
	starts map[int64]int64
}

// lookup returns the cached lines of an open file. It returns nil if the file is too small
// to have a line over the limit or cannot be examined.
func (l *LongLines) lookup(file vfs.File, limit int64) *longLines {
	if l == nil || limit >= readSizeMost {
		return nil
	}
	info, err := file.Stat()
	if err != nil || info.Size <= limit {
		return nil
	}
	name := fileName{info.Device, info.Inode}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.files[name]; known != nil && known.size == info.Size && known.modified.Equal(info.ModTime) {
		return known
	}
	if l.files == nil || len(l.files) >= maxLongFiles {
		l.files = make(map[fileName]*longLines)
	}
	fresh := &longLines{size: info.Size, modified: info.ModTime, ends: make(map[int64]int64), starts: make(map[int64]int64)}
	l.files[name] = fresh
	return fresh
}

// add caches a line.
func (l *longLines) add(start, end int64) {
	if l == nil || end > l.size {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[start], l.starts[end] = end, start
}

// end returns the end of the line that starts at an offset, if it is cached.
func (l *longLines) end(start int64) (int64, bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	end, ok := l.ends[start]
	return end, ok
}

// start returns the start of the line that ends at an offset, if it is cached.
func (l *longLines) start(end int64) (int64, bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	start, ok := l.starts[end]
	return start, ok
}
