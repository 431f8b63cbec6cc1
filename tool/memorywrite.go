package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"firn"
)

// MemoryOptions bounds what is noted.
type MemoryOptions struct {
	// Clock tells the day; nil is the system's.
	Clock func() time.Time
	// MaxBytes bounds the file of a day, zero means 64 KB; MaxNote the text of a
	// call, zero means 2 KB.
	MaxBytes, MaxNote int
}

const (
	// memoryDir is where the notes of each day are, memoryFile is what people
	// and programs made of them.
	memoryDir, memoryFile = "memory", "MEMORY.md"
	dayFormat             = "2006-01-02"
	// recentDays is how many days back a note is not written again.
	recentDays = 7
)

type memoryArguments struct {
	Text string `json:"text" desc:"What to remember, one fact on each line, so that it can be understood without this conversation."`
}

type memoryDetails struct {
	Path  string `json:"path"`
	Added int    `json:"added"`
	// Known is how many notes were there already.
	Known int `json:"known,omitempty"`
}

// MemoryWrite makes the tool memory_write, which notes facts for later
// conversations. Each line of its text becomes an item of the list in
// memory/YYYY-MM-DD.md, which is only ever added to; no line can be anything but
// such an item. What is noted already, on that day, in the seven days before it
// or in MEMORY.md, is not noted again: white space and case make no difference.
//
// Several processes may note at once. The kernel's lock on the file of the day
// keeps them apart while one looks whether a note is there already and writes it;
// the writing is one system call at the end of the file, so that on systems and
// disks without such a lock there may be a note twice, but never half of one. An
// editor that saves the file from a copy it read before takes back what was noted
// since; no lock helps against that.
//
// In a read-only workspace it refuses.
func MemoryWrite(w *Workspace, o MemoryOptions) Tool {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 10
	}
	if o.MaxNote <= 0 {
		o.MaxNote = 2 << 10
	}
	return New("memory_write", "Remembers facts beyond this conversation. They are noted under today's date, and recall finds them. "+
		"Note what will matter later: decisions, preferences, names, dates, what is left to do.",
		func(ctx context.Context, a memoryArguments) (Result, error) { return w.note(ctx, a.Text, o) })
}

func (w *Workspace) note(ctx context.Context, text string, o MemoryOptions) (Result, error) {
	if w.readOnly {
		return Result{}, fmt.Errorf("note something: the workspace is read-only (%w)", firn.ErrUnsupported)
	}
	if len(text) > o.MaxNote {
		return Result{}, fmt.Errorf("note something: %s is %w, %s is the most; note only what matters", count(len(text), "byte"), firn.ErrTooLarge, group(o.MaxNote))
	}
	notes := noteLines(text)
	if len(notes) == 0 {
		return Result{}, fmt.Errorf("note something: the text says nothing (%w text)", firn.ErrInvalid)
	}
	w.noting.Lock()
	defer w.noting.Unlock()
	now := o.Clock()
	name := filepath.Join(memoryDir, now.Format(dayFormat)+".md")
	f, err := w.openDay(ctx, name)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	written, err := io.ReadAll(io.LimitReader(f, int64(o.MaxBytes)+1))
	if err != nil {
		return Result{}, w.explain("read", name, err)
	}
	fresh := newNotes(notes, written, w.recent(now))
	if len(fresh) > 0 {
		if err := w.addNotes(f, name, written, fresh, now, o.MaxBytes); err != nil {
			return Result{}, err
		}
	}
	details := memoryDetails{Path: shown(name), Added: len(fresh), Known: len(notes) - len(fresh)}
	return Result{Parts: TextResult(details.text()).Parts, Details: quote(details)}, nil
}

func (d memoryDetails) text() string {
	switch {
	case d.Added == 0:
		return "already noted"
	case d.Known > 0:
		return fmt.Sprintf("noted in %s: %s; %d already noted", d.Path, count(d.Added, "fact"), d.Known)
	}
	return fmt.Sprintf("noted in %s: %s", d.Path, count(d.Added, "fact"))
}

// openDay opens the file of a day, making it if need be, and takes its lock. An
// editor may put another file in its place while we wait.
func (w *Workspace) openDay(ctx context.Context, name string) (*os.File, error) {
	if _, err := w.root.Stat(memoryDir); err != nil {
		if err := w.root.MkdirAll(memoryDir, 0o700); err != nil {
			return nil, w.explain("make the directory", memoryDir, err)
		}
	}
	for range replaceTries {
		f, err := w.root.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_RDWR|nonBlocking, 0o600)
		if err != nil {
			return nil, w.explain("note something in", name, err)
		}
		info, err := f.Stat()
		if err == nil {
			err = refuseSpecial(name, info)
		}
		if err == nil {
			err = lock(ctx, f)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("note something in %s: %w", shown(name), err)
		}
		if there, err := w.root.Stat(name); err == nil && os.SameFile(info, there) {
			return f, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("note something in %s: %w again and again", shown(name), firn.ErrReplaced)
}

const (
	replaceTries = 10

	lockTries = 500
	lockPause = 10 * time.Millisecond
)

// lock waits for the lock on a file, which others hold for moments only.
func lock(ctx context.Context, f *os.File) error {
	for range lockTries {
		ok, err := tryLock(f)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPause):
		}
	}
	return fmt.Errorf("another process has it %w for long", firn.ErrLocked)
}

// addNotes writes notes to the end of the file of a day, all or none of them.
func (w *Workspace) addNotes(f *os.File, name string, written []byte, notes []string, now time.Time, most int) error {
	var b bytes.Buffer
	switch {
	case len(written) == 0:
		fmt.Fprintf(&b, "# %s\n\n", now.Format(dayFormat))
	case written[len(written)-1] != '\n':
		b.WriteByte('\n')
	}
	for _, note := range notes {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	if len(written)+b.Len() > most {
		return fmt.Errorf("note something in %s: the notes of today would be %w, %s is the most; tell the user what should be tidied up", shown(name), firn.ErrTooLarge, size(int64(most)))
	}
	_, err := f.Write(b.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err == nil && len(written) == 0 {
		err = errors.Join(w.syncDir(memoryDir), w.syncDir("."))
	}
	if err != nil {
		// Half a note helps nobody, and nobody was told of it.
		err = errors.Join(err, f.Truncate(int64(len(written))))
		return w.explain("note something in", name, err)
	}
	return nil
}

// recent reads what was noted in the days before now, and MEMORY.md. What
// cannot be read is not known.
func (w *Workspace) recent(now time.Time) []byte {
	names := []string{memoryFile}
	for day := 1; day <= recentDays; day++ {
		names = append(names, path.Join(memoryDir, now.AddDate(0, 0, -day).Format(dayFormat)+".md"))
	}
	var all []byte
	for _, name := range names {
		data, err := w.readNotes(filepath.FromSlash(name))
		if err == nil {
			all = append(append(all, data...), '\n')
		}
	}
	return all
}

// newNotes returns the notes that are in none of the texts, each once.
func newNotes(notes []string, texts ...[]byte) []string {
	known := make(map[string]bool)
	for _, text := range texts {
		for line := range bytes.Lines(text) {
			known[noteKey(noteText(string(line)))] = true
		}
	}
	var fresh []string
	for _, note := range notes {
		if key := noteKey(note); !known[key] {
			known[key] = true
			fresh = append(fresh, note)
		}
	}
	return fresh
}

// noteKey is the same for notes that say the same.
func noteKey(note string) string {
	return strings.ToLower(strings.Join(strings.Fields(note), " "))
}

// noteLines makes notes of a text, one of each line that says something.
func noteLines(text string) []string {
	text, _ = firn.CleanText(text)
	var notes []string
	for line := range strings.FieldsFuncSeq(text, isLineEnd) {
		if note := noteText(line); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// noteText is what a line of Markdown says: without the marks of lists,
// headings and quotes before it, and without what one cannot see. What is left
// cannot be any of those once it stands behind a mark of its own.
func noteText(line string) string {
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || isLineEnd(r)
	}), " ")
	for {
		mark, rest, _ := strings.Cut(line, " ")
		if mark == "" || strings.Trim(mark, "#>-*+•=_") != "" {
			return line
		}
		line = rest
	}
}
