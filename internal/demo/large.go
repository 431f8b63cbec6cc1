package demo

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"firn"
	"firn/internal/vfs"
	"firn/store"
	"firn/store/filestore"
	"firn/window"
)

// appendDurably measures appends that are on the disk when they return.
func (t *tour) appendDurably() (string, error) {
	id, err := store.LoadOrCreate(t.ctx, t.st, "agent:main:durable")
	if err != nil {
		return "", err
	}
	const n = 100
	begun := time.Now()
	for i := range n {
		if err := t.say(id, firn.UserText(fmt.Sprintf("message %d", i))); err != nil {
			return "", err
		}
	}
	took := time.Since(begun)
	return fmt.Sprintf("%d, each synced before it returned: %s a second", n, grouped(int64(n/took.Seconds()))), nil
}

// largeSize is how large the large session is.
const largeSize = 50_000_000

// resumeLarge makes a large session and goes on with it as a program would
// that was started anew.
func (t *tour) resumeLarge() (string, error) {
	id := firn.ID("large")
	total, err := t.makeLarge(id)
	if err != nil {
		return "", err
	}
	counted := &countingFS{FS: vfs.OS{}}
	begun := time.Now()
	st, err := filestore.Open(t.home, filestore.Options{ReadOnly: true, FS: counted})
	if err != nil {
		return "", err
	}
	path, err := window.Collect(st.ReadBack(t.ctx, id, store.End))
	w := window.Build(path, window.Options{Profile: window.Anthropic()})
	took := time.Since(begun)
	if err := errors.Join(err, st.Close()); err != nil {
		return "", err
	}
	read := counted.read.Load()
	if len(w.Items) == 0 || read > total/20 {
		return "", fmt.Errorf("the window has %d messages; %d of %d bytes were read", len(w.Items), read, total)
	}
	return fmt.Sprintf("%s, window of %d messages in %.1f ms, %s read", size(total), len(w.Items), float64(took.Microseconds())/1000, size(read)), nil
}

// makeLarge makes a session of largeSize, with a compaction near its end. It
// is not synced: this is not about durability.
func (t *tour) makeLarge(id firn.ID) (total int64, err error) {
	st, err := filestore.Open(t.home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	text := strings.Repeat("Firn is last years' snow: pressed flat under the new, still there, in order. ", 100)
	const batch = 128
	for written := int64(0); written < largeSize; written += batch * int64(len(text)) {
		entries := make([]firn.Entry, batch)
		for i := range entries {
			if entries[i] = firn.UserText(text); i%2 == 1 {
				entries[i] = firn.AssistantText(text)
			}
		}
		if _, err := st.Append(t.ctx, id, store.Any, entries...); err != nil {
			return 0, err
		}
	}
	kept := firn.UserText("Where were we?")
	_, err = st.Append(t.ctx, id, store.Any, kept, firn.AssistantText("In the snow."),
		firn.NewEntry(&firn.Compaction{Summary: "Much was said about snow.", FirstKept: kept.ID}), firn.UserText("Go on."))
	if err != nil {
		return 0, err
	}
	info, err := st.Inspect(t.ctx, id)
	return info.Bytes, err
}

// countingFS counts the bytes that are read from files.
type countingFS struct {
	vfs.FS
	read atomic.Int64
}

// Open opens a file whose reads are counted.
func (c *countingFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	file, err := c.FS.Open(path, mode)
	if err != nil {
		return nil, err
	}
	return &countingFile{File: file, read: &c.read}, nil
}

type countingFile struct {
	vfs.File
	read *atomic.Int64
}

func (f *countingFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.read.Add(int64(n))
	return n, err
}

func (f *countingFile) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(b, offset)
	f.read.Add(int64(n))
	return n, err
}
