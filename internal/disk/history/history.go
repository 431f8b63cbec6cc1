// Package history stores the lines typed at terminals in a bounded file of the home, and
// erases the lines that a purge removes.
package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev/internal/disk/vfs"
)

// History is a list of typed lines, oldest first. With a path it is stored in a file
// readable only by its owner, one JSON string per line. Several processes may add to the
// file and erase from it concurrently. The history is bounded, and lines that begin with a
// space are not stored.
type History struct {
	fs    vfs.FS
	path  string
	items []string
}

// Limits of a history: the number of items, the length of an item stored in the file, and
// the number of bytes read from a file.
const (
	maxItems = 1000
	maxItem  = 64 << 10
	maxFile  = 4 << 20
)

// Open reads the history from a file, which need not exist. If the path is empty, the
// history is only in memory. Unreadable lines are skipped.
func Open(sys vfs.FS, path string) (*History, error) {
	h := &History{fs: sys, path: path}
	if path == "" {
		return h, nil
	}
	lines, whole, err := h.read()
	if err != nil {
		return h, fmt.Errorf("read the history %s: %w", path, err)
	}
	for _, l := range lines {
		var text string
		if json.Unmarshal(l, &text) == nil && text != "" {
			h.remember(text)
		}
	}
	if !whole || len(lines) > 2*maxItems {
		if err := h.shorten(); err != nil {
			return h, fmt.Errorf("shorten the history %s: %w", path, err)
		}
	}
	return h, nil
}

// shorten reduces the file to its latest lines. It reads the file again, because lines may
// have been added or erased since.
func (h *History) shorten() error {
	return h.locked(vfs.Extend, func(vfs.File) error {
		lines, _, err := h.read()
		if err != nil {
			return err
		}
		lines = slices.DeleteFunc(lines, func(l []byte) bool { return json.Unmarshal(l, new(string)) != nil })
		return h.replace(lines[max(len(lines)-maxItems, 0):])
	})
}

// Erase removes texts from a history file, which need not exist, and returns their number.
// Processes that have the history open may still have them in memory but do not write them
// again. When it returns, the change is durable. It may run concurrently with itself and
// with Add.
func Erase(sys vfs.FS, path string, gone func(text string) bool) (n int, err error) {
	h := &History{fs: sys, path: path}
	there := false
	err = h.locked(vfs.Extend, func(vfs.File) (err error) {
		there = true
		n, err = h.erase(gone)
		return err
	})
	if !there && errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("erase lines of the history %s: %w", path, err)
	}
	return n, nil
}

// erase removes texts and unreadable lines from the file. The file must be locked.
func (h *History) erase(gone func(text string) bool) (int, error) {
	if err := h.discard(); err != nil {
		return 0, err
	}
	lines, whole, err := h.read()
	if err != nil {
		return 0, err
	}
	kept := slices.DeleteFunc(slices.Clone(lines), func(l []byte) bool {
		var text string
		return json.Unmarshal(l, &text) != nil || gone(text)
	})
	if len(kept) == len(lines) && whole {
		return 0, nil
	}
	return len(lines) - len(kept), h.replace(kept)
}

// locked runs do while no other process or goroutine adds to the file or replaces it. The
// lock belongs to the open file, which is passed to do. After waiting for the lock, it
// checks that the file was not replaced in the meantime.
func (h *History) locked(mode vfs.Mode, do func(file vfs.File) error) error {
	for {
		file, err := h.fs.Open(h.path, mode)
		if err != nil {
			return err
		}
		current, err := h.lockCurrent(file)
		if err == nil && current {
			err = do(file)
		}
		if err = errors.Join(err, file.Close()); err != nil || current {
			return err
		}
	}
}

// lockCurrent locks an open file and reports whether it is still the one at its path.
func (h *History) lockCurrent(file vfs.File) (bool, error) {
	if err := file.Lock(); err != nil {
		return false, err
	}
	ours, err := file.Stat()
	if err != nil {
		return false, err
	}
	now, err := h.fs.Stat(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && now.Same(ours), err
}

// read reads the lines of the file, or only of its end if it is large.
func (h *History) read() (lines [][]byte, whole bool, err error) {
	file, err := h.fs.Open(h.path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, true, err
	}
	defer file.Close() // read-only
	info, err := file.Stat()
	if err != nil {
		return nil, true, err
	}
	from := max(info.Size-maxFile, 0)
	data, err := io.ReadAll(io.NewSectionReader(file, from, maxFile))
	if err != nil {
		return nil, true, err
	}
	lines = bytes.Split(data, []byte("\n"))
	if from > 0 {
		lines = lines[1:] // the first line may be incomplete
	}
	return slices.DeleteFunc(lines, func(l []byte) bool { return len(l) == 0 }), from == 0, nil
}

// replace replaces the locked file durably by one with the given lines.
func (h *History) replace(lines [][]byte) error {
	var all []byte
	for _, l := range lines {
		all = append(append(all, l...), '\n')
	}
	if err := h.discard(); err != nil {
		return err
	}
	file, err := h.fs.Open(h.next(), vfs.Create)
	if err != nil {
		return err
	}
	if _, err = file.Write(all); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = h.fs.Rename(h.next(), h.path)
	}
	if err != nil {
		return errors.Join(err, h.discard())
	}
	return h.fs.SyncDir(filepath.Dir(h.path))
}

// next returns the path of the temporary file that replaces the history file. The name is
// fixed, so that a file left by a crash is found: it may hold lines to be erased.
func (h *History) next() string { return h.path + ".new" }

func (h *History) discard() error {
	if err := h.fs.Remove(h.next()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func encodeLine(text string) []byte {
	l, err := json.Marshal(text)
	if err != nil { // strings always marshal
		return nil
	}
	return append(l, '\n')
}

// Add adds a line unless it begins with a space, is empty or repeats the previous one. If
// it fails, the line is not in the file.
func (h *History) Add(text string) error {
	if strings.TrimSpace(text) == "" || strings.HasPrefix(text, " ") || !h.remember(text) {
		return nil
	}
	l := encodeLine(text)
	if h.path == "" || len(l) > maxItem {
		return nil
	}
	if err := h.fs.MkdirAll(filepath.Dir(h.path)); err != nil {
		return fmt.Errorf("keep the history %s: %w", h.path, err)
	}
	err := h.locked(vfs.Append, func(file vfs.File) error {
		_, err := file.Write(l)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the history %s: %w", h.path, err)
	}
	return nil
}

// remember adds a line in memory; it returns false if it repeats the last one.
func (h *History) remember(text string) bool {
	if n := len(h.items); n > 0 && h.items[n-1] == text {
		return false
	}
	h.items = append(h.items, text)
	if over := len(h.items) - maxItems; over > 0 {
		h.items = slices.Delete(h.items, 0, over)
	}
	return true
}

// Items returns the lines, oldest first. They are valid until the next Add.
func (h *History) Items() []string { return h.items }

// Find returns the index of the first item that contains text, ignoring case, searching
// from an index in steps of 1 or -1; -1 if no item does.
func (h *History) Find(text string, from, step int) int {
	for i := from; i >= 0 && i < len(h.items); i += step {
		if strings.Contains(strings.ToLower(h.items[i]), strings.ToLower(text)) {
			return i
		}
	}
	return -1
}
