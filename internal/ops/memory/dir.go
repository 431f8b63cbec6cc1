package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Dir is a folder of notes. It is safe for concurrent use by goroutines and processes.
type Dir struct {
	root  string
	fs    vfs.FS
	clock func() time.Time
	// stepped is called at each step of a change, for crash tests.
	stepped func(step string)

	// mu serializes the goroutines of this process; a file lock serializes the processes.
	mu sync.Mutex

	cacheMu sync.Mutex
	cache   map[string]cached
	known   pieceCache
}

// cached is a file as read, with the time of reading.
type cached struct {
	vfs.Info
	content
	at time.Time
}

// Options configure a folder. The zero value is ready to use.
type Options struct {
	// FS is the file system; nil means the operating system's.
	FS vfs.FS
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
}

const (
	memoryDir = "memory"
	// IndexFile is the list of notes.
	IndexFile = "MEMORY.md"
	ending    = ".md"
	// extractedNote is the note with facts extracted from conversations.
	extractedNote = "extracted"
)

// Open returns the folder at root. It creates and reads nothing.
func Open(root string, o Options) *Dir {
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Dir{root: root, fs: o.FS, clock: o.Clock, cache: make(map[string]cached)}
}

// Root returns the path of the folder.
func (d *Dir) Root() string { return d.root }

// File returns the path of a note, whether it exists or not.
func (d *Dir) File(name string) string { return d.memoryPath(name + ending) }

func (d *Dir) memoryPath(name string) string { return filepath.Join(d.root, memoryDir, name) }

func (d *Dir) step(name string) {
	if d.stepped != nil {
		d.stepped(name)
	}
}

// notePath returns the path of a note within the folder.
func notePath(name string) string { return path.Join(memoryDir, name+ending) }

// The maximum size of a note, the maximum size of a file that is read and versioned, and
// the maximum number of files.
const (
	maxFile  = 1 << 20
	maxRead  = 8 * maxFile
	maxFiles = 2000
)

// readAll reads a complete file: a truncated old version must not be restored.
func readAll(fsys vfs.FS, path string) ([]byte, error) {
	f, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading only
	return io.ReadAll(f)
}

// readFile reads a file of the folder. An unchanged file is served from the cache. A file
// that cannot be a note fails with [firn.ErrUnsupported] or [firn.ErrTooLarge].
func (d *Dir) readFile(rel string) (content, error) {
	full := filepath.Join(d.root, filepath.FromSlash(rel))
	if err := d.checkInside(full); err != nil {
		return content{}, err
	}
	info, err := d.fs.Stat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	if err != nil {
		return content{}, fmt.Errorf("read a note: %w", err)
	}
	switch {
	case !info.Mode.IsRegular():
		return content{}, fmt.Errorf("read a note: %s: %w: not a regular file", full, firn.ErrUnsupported)
	case info.Size > maxRead:
		return content{}, fmt.Errorf("read a note: %s: %w: %d bytes, at most %d are allowed", full, firn.ErrTooLarge, info.Size, maxRead)
	}
	d.cacheMu.Lock()
	known, ok := d.cache[rel]
	d.cacheMu.Unlock()
	// A file that was modified at the time of reading may have been modified again without
	// a visible difference.
	if ok && known.Info == info && known.at.Sub(info.ModTime) > 2*time.Second {
		return known.content, nil
	}
	now := d.clock()
	data, err := readAll(d.fs, full)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	if err != nil {
		return content{}, fmt.Errorf("read a note: %w", err)
	}
	c := content{string(data), true}
	d.cacheMu.Lock()
	d.cache[rel] = cached{info, c, now}
	d.cacheMu.Unlock()
	return c, nil
}

// writeContent replaces or removes a file of the folder.
func (d *Dir) writeContent(rel string, c content) error {
	full := filepath.Join(d.root, filepath.FromSlash(rel))
	if c.there {
		if err := vfs.WriteFile(d.fs, full, []byte(c.text)); err != nil {
			return fmt.Errorf("write a note: %w", err)
		}
		return nil
	}
	if err := d.fs.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a note: %w", err)
	}
	return vfs.SyncNames(d.fs, filepath.Dir(full))
}

// readTries is the maximum number of attempts to read a consistent set of files.
const readTries = 8

// read reads all files of the folder as one consistent set: as before a change or after it,
// never in between.
func (d *Dir) read(ctx context.Context) (version, error) {
	for range readTries {
		before, err := d.readMark()
		if err != nil {
			return nil, err
		}
		files, err := d.readFiles(ctx, before)
		if err != nil {
			return nil, err
		}
		after, err := d.readMark()
		if err != nil {
			return nil, err
		}
		if before == after {
			return files, nil
		}
	}
	return nil, fmt.Errorf("read the notes in %s: %w repeatedly", d.root, firn.ErrReplaced)
}

// readFiles reads all files. The content of an unfinished change takes precedence over the
// files, unless they were edited since.
func (d *Dir) readFiles(ctx context.Context, m mark) (version, error) {
	files := version{}
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	for _, rel := range names {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		c, err := d.readFile(rel)
		if isNotNote(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.there {
			files[rel] = c
		}
	}
	if m.Done || m.ID == "" {
		return files, nil
	}
	_, before, after, err := d.readHistory(m.ID)
	if err != nil {
		return nil, err
	}
	for rel, to := range after {
		switch {
		case isState(rel): // not a note
		case files[rel] != before[rel]: // already written, or edited since
		case to.there:
			files[rel] = to
		default:
			delete(files, rel)
		}
	}
	return files, nil
}

// names lists the files of notes, the index first.
func (d *Dir) names() ([]string, error) {
	found, err := d.fs.ReadDir(filepath.Join(d.root, memoryDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the notes: %w", err)
	}
	names := []string{IndexFile}
	for _, f := range slices.Backward(found) { // the newest days, if there are too many
		name, ok := strings.CutSuffix(f.Name(), ending)
		if ok && name != "" && !strings.HasPrefix(name, ".") && !f.IsDir() && len(names) <= maxFiles {
			names = append(names, notePath(name))
		}
	}
	return names, nil
}

// notes returns the notes of a set, sorted by name.
func (v version) notes() []Note {
	var notes []Note
	for rel, c := range v {
		name, ok := strings.CutPrefix(strings.TrimSuffix(rel, ending), memoryDir+"/")
		if ok && len(c.text) <= maxFile {
			notes = append(notes, parseNote(name, []byte(c.text)))
		}
	}
	slices.SortFunc(notes, func(a, b Note) int { return strings.Compare(a.Name, b.Name) })
	return notes
}

// Notes lists the notes, sorted by name.
func (d *Dir) Notes(ctx context.Context) ([]Note, error) {
	files, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	return files.notes(), nil
}

// Note returns a note by name. It fails with [firn.ErrNotFound] if there is none, and with
// the errors of [Dir.Faults] for a file that cannot be a note.
func (d *Dir) Note(ctx context.Context, name string) (Note, error) {
	notes, err := d.Notes(ctx)
	if err != nil {
		return Note{}, err
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, memoryDir+"/"), ending)
	for _, n := range notes {
		if n.Name == name {
			return n, nil
		}
	}
	for _, n := range notes {
		if strings.EqualFold(n.Title, name) && name != "" {
			return n, nil
		}
	}
	if !strings.ContainsAny(name, `/\`) {
		if _, err := d.readFile(notePath(name)); isNotNote(err) {
			return Note{}, err
		}
	}
	return Note{}, fmt.Errorf("find the note %q: %w", firn.CutText(name, 80), firn.ErrNotFound)
}

// lockTries and lockPause limit the wait for the lock of a folder, which is only held
// briefly.
const (
	lockTries = 1000
	lockPause = 10 * time.Millisecond
)

// locked calls do while holding the lock of the folder. It first completes the change of a
// process that died.
func (d *Dir) locked(ctx context.Context, do func() error) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fs.MkdirAll(filepath.Join(d.root, memoryDir)); err != nil {
		return fmt.Errorf("create the notes folder: %w: %w", firn.ErrNotSaved, err)
	}
	f, err := d.fs.Open(d.memoryPath(lockFile), vfs.Update)
	if err != nil {
		return fmt.Errorf("lock the notes: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }() // releases the lock
	if err := waitLock(ctx, f); err != nil {
		return fmt.Errorf("lock the notes in %s: %w", d.root, err)
	}
	if err := d.recover(); err != nil {
		return err
	}
	return do()
}

// waitLock waits for the lock on a file.
func waitLock(ctx context.Context, f vfs.File) error {
	for range lockTries {
		ok, err := f.TryLock()
		if ok || err != nil {
			return err
		}
		timer := time.NewTimer(lockPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("held too long by another process: %w", firn.ErrLocked)
}
