// Package history keeps the lines typed at terminals in a file of the home, bounded,
// and erases from it what a purge removes.
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

	"firn/internal/vfs"
)

// History is what was typed before, oldest first. With a path it is kept in a
// file for its owner alone, one line of JSON each, so that it is there the next
// time; several programs may add to it at once, and erase from it. It is bounded, and what begins
// with a space is not kept.
type History struct {
	fs    vfs.FS
	path  string
	items []string
}

// The bounds of a history: how many it has, how long one may be to be kept in
// the file, and how much of a file is read.
const (
	maxItems = 1000
	maxItem  = 64 << 10
	maxFile  = 4 << 20
)

// Open reads the history of a file, which need not be there. Without a
// path it is only in memory. What cannot be read in the file is left out.
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

// shorten leaves in the file the latest lines that are remembered. It looks again
// at what is there: since then something may have been added, or erased.
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

// Erase takes texts out of the history of a file, which need not be there,
// and returns how many went. Who has it open may still have them in memory, and
// does not write them again. When it returns, the rest is durable. Several may
// erase, and add, at once.
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

// erase takes texts out of the file, with what nobody can read of it. The file is
// locked.
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

// locked does something while nobody else adds to the file or replaces it, in this
// process or another: the lock belongs to the open file, which is handed on. Who
// had to wait may have got hold of one that was replaced meanwhile.
func (h *History) locked(mode vfs.Mode, do func(file vfs.File) error) error {
	for {
		file, err := h.fs.Open(h.path, mode)
		if err != nil {
			return err
		}
		current, err := h.hold(file)
		if err == nil && current {
			err = do(file)
		}
		if err = errors.Join(err, file.Close()); err != nil || current {
			return err
		}
	}
}

// hold locks an open file, and reports whether it is still the one at its path.
func (h *History) hold(file vfs.File) (bool, error) {
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

// read reads the lines of the file, at most the end of it.
func (h *History) read() (lines [][]byte, whole bool, err error) {
	file, err := h.fs.Open(h.path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, true, err
	}
	defer file.Close() // only read
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
		lines = lines[1:] // it begins somewhere
	}
	return slices.DeleteFunc(lines, func(l []byte) bool { return len(l) == 0 }), from == 0, nil
}

// replace replaces the file, which is locked, by one with some lines, durably.
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

// next is the file that takes the place of the other. It has always the same name,
// so that one that was left by a crash is found: it has lines that are to go.
func (h *History) next() string { return h.path + ".new" }

func (h *History) discard() error {
	if err := h.fs.Remove(h.next()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func encodeLine(text string) []byte {
	l, err := json.Marshal(text)
	if err != nil { // no text is refused
		return nil
	}
	return append(l, '\n')
}

// Add remembers what was typed, unless it begins with a space, is empty or is
// what was typed just before. An error says that it is not in the file.
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

// remember adds to what is in memory; false if it is there as the last one.
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

// Find returns the index of the first item that contains text, ignoring case,
// searching from an index in steps of 1 or -1; -1 if no item does.
func (h *History) Find(text string, from, step int) int {
	for i := from; i >= 0 && i < len(h.items); i += step {
		if strings.Contains(strings.ToLower(h.items[i]), strings.ToLower(text)) {
			return i
		}
	}
	return -1
}
