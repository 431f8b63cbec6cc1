package journal

import (
	"sync"
	"time"

	"firn/internal/vfs"
)

// LongLines remembers where lines over the limit are in files, so that they are scanned
// once and not by each reader. What it knows of a file counts while the file has the
// size and the time that it had: any change makes readers scan it again. Its zero
// value is ready, and it may be used by many goroutines; nil remembers nothing.
type LongLines struct {
	mu    sync.Mutex
	files map[fileName]*longLines
}

// fileName names a file, whatever its path.
type fileName struct{ device, inode uint64 }

// mostLong bounds how many files are remembered.
const mostLong = 256

// longLines are those of one file as it is: from their first byte to behind their
// newline.
type longLines struct {
	size     int64
	modified time.Time

	mu     sync.Mutex
	ends   map[int64]int64
	starts map[int64]int64
}

// of returns what is known of a file that was opened; nil if it has no line of that
// length or cannot be asked.
func (l *LongLines) of(file vfs.File, limit int64) *longLines {
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
	if l.files == nil || len(l.files) >= mostLong {
		l.files = make(map[fileName]*longLines)
	}
	fresh := &longLines{size: info.Size, modified: info.ModTime, ends: make(map[int64]int64), starts: make(map[int64]int64)}
	l.files[name] = fresh
	return fresh
}

// add remembers a line.
func (l *longLines) add(start, end int64) {
	if l == nil || end > l.size {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[start], l.starts[end] = end, start
}

// end returns where the line ends that begins at an offset, if it is known.
func (l *longLines) end(start int64) (int64, bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	end, ok := l.ends[start]
	return end, ok
}

// start returns where the line begins that ends at an offset, if it is known.
func (l *longLines) start(end int64) (int64, bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	start, ok := l.starts[end]
	return start, ok
}
