package line

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
// time; several programs may add to it at once. It is bounded, and what begins
// with a space is not kept.
type History struct {
	fs    vfs.FS
	path  string
	items []string
}

// The bounds of a history: how many it has, how long one may be to be kept in
// the file, and how much of a file is read.
const (
	maxHistory     = 1000
	maxHistoryItem = 64 << 10
	maxHistoryFile = 4 << 20
)

// OpenHistory reads the history of a file, which need not be there. Without a
// path it is only in memory. What cannot be read in the file is left out.
func OpenHistory(sys vfs.FS, path string) (*History, error) {
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
	if !whole || len(lines) > 2*maxHistory {
		if err := h.rewrite(); err != nil {
			return h, fmt.Errorf("shorten the history %s: %w", path, err)
		}
	}
	return h, nil
}

// EraseHistory takes texts out of the history of a file, which need not be there,
// and returns how many went. Who has it open may still have them in memory, and
// does not write them again. When it returns, the rest is durable.
func EraseHistory(sys vfs.FS, path string, gone func(text string) bool) (int, error) {
	h := &History{fs: sys, path: path}
	lines, _, err := h.read()
	if err != nil {
		return 0, fmt.Errorf("read the history %s: %w", path, err)
	}
	var kept []byte
	n := 0
	for _, l := range lines {
		var text string
		if json.Unmarshal(l, &text) != nil || gone(text) {
			n++
			continue
		}
		kept = append(append(kept, l...), '\n')
	}
	if n == 0 {
		return 0, nil
	}
	if err := h.fs.Remove(path + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a rewriting that broke off
		return 0, fmt.Errorf("erase lines of the history %s: %w", path, err)
	}
	if err := vfs.WriteFile(h.fs, path, kept); err != nil {
		return 0, fmt.Errorf("erase lines of the history %s: %w", path, err)
	}
	return n, nil
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
	from := max(info.Size-maxHistoryFile, 0)
	data, err := io.ReadAll(io.NewSectionReader(file, from, maxHistoryFile))
	if err != nil {
		return nil, true, err
	}
	lines = bytes.Split(data, []byte("\n"))
	if from > 0 {
		lines = lines[1:] // it begins somewhere
	}
	return slices.DeleteFunc(lines, func(l []byte) bool { return len(l) == 0 }), from == 0, nil
}

// rewrite replaces the file by one with what is remembered.
func (h *History) rewrite() error {
	var all []byte
	for _, text := range h.items {
		if l := historyLine(text); len(l) <= maxHistoryItem {
			all = append(all, l...)
		}
	}
	temp := h.path + ".new"
	if err := h.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := h.add(temp, vfs.Create, all); err != nil {
		return err
	}
	return h.fs.Rename(temp, h.path)
}

func historyLine(text string) []byte {
	l, err := json.Marshal(text)
	if err != nil { // no text is refused
		return nil
	}
	return append(l, '\n')
}

func (h *History) add(path string, mode vfs.Mode, data []byte) error {
	file, err := h.fs.Open(path, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// Add remembers what was typed, unless it begins with a space, is empty or is
// what was typed just before. An error says that it is not in the file.
func (h *History) Add(text string) error {
	if strings.TrimSpace(text) == "" || strings.HasPrefix(text, " ") || !h.remember(text) {
		return nil
	}
	l := historyLine(text)
	if h.path == "" || len(l) > maxHistoryItem {
		return nil
	}
	if err := h.fs.MkdirAll(filepath.Dir(h.path)); err != nil {
		return fmt.Errorf("keep the history %s: %w", h.path, err)
	}
	if err := h.add(h.path, vfs.Append, l); err != nil {
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
	if over := len(h.items) - maxHistory; over > 0 {
		h.items = slices.Delete(h.items, 0, over)
	}
	return true
}

// find looks for text, from an item on to older ones or newer ones. It returns
// the item, -1 if there is none.
func (h *History) find(text string, from, step int) int {
	for i := from; i >= 0 && i < len(h.items); i += step {
		if strings.Contains(strings.ToLower(h.items[i]), strings.ToLower(text)) {
			return i
		}
	}
	return -1
}
