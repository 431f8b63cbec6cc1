// Package filehistory stores the contents of files from before and after tools changed
// them, so that the files can be rewound together with a conversation.
//
// Contents are addressed by their SHA-256, compressed, and shared between sessions by hard
// links. Each session has a directory with links to its contents and a journal of its
// changes, so that removing a session removes exactly what only this session needs. A
// directory per changed path lists the sessions that changed it.
//
// The journal is local to the machine on which the files were changed. Transcripts do not
// depend on it.
package filehistory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// MaxContent is the size in bytes up to which the content of a file is stored. Of larger
// files only the hash is recorded.
const MaxContent = 64 << 20

// State is the state of a file at one moment.
type State struct {
	// Exists is false if there was no file; the other fields are then zero.
	Exists bool `json:"exists"`
	// Hash is the SHA-256 of the content in hexadecimal.
	Hash string `json:"sha256,omitempty"`
	// Mode holds the permission bits.
	Mode fs.FileMode `json:"mode,omitempty"`
	Size int64       `json:"size,omitempty"`
	// Omitted is set if the content was too large to be stored.
	Omitted bool `json:"omitted,omitempty"`
}

// Same reports whether two states have the same content and mode.
func (s State) Same(other State) bool {
	return s.Exists == other.Exists && s.Hash == other.Hash && s.Mode == other.Mode
}

// StateOf returns the state of a file with the given content and mode.
func StateOf(content []byte, mode fs.FileMode) State {
	sum := sha256.Sum256(content)
	return State{Exists: true, Hash: hex.EncodeToString(sum[:]), Mode: mode.Perm(), Size: int64(len(content)), Omitted: len(content) > MaxContent}
}

// Change is one change of a file by a tool call.
type Change struct {
	Time time.Time `json:"time"`
	// Entry is the answer with the tool call, Call the ID of the call and Tool its name.
	// Rewinds have no entry.
	Entry firn.EntryID `json:"entry,omitempty"`
	Call  string       `json:"call,omitempty"`
	Tool  string       `json:"tool,omitempty"`
	// Path is absolute, with symbolic links resolved.
	Path   string `json:"path"`
	Before State  `json:"before"`
	// After is nil if the tool did not finish the change, or the process was killed.
	After *State `json:"after,omitempty"`
}

// fileSystem is a file system with hard links.
type fileSystem interface {
	vfs.FS
	Link(from, to string) error
}

// History is a directory of file contents and changes. It is safe for concurrent use, also
// by several processes.
type History struct {
	fs  fileSystem
	dir string
	now func() time.Time
}

// New returns the history in a directory. The directory is created with the first change.
func New(sys fileSystem, dir string) *History {
	return &History{fs: sys, dir: dir, now: time.Now}
}

func (h *History) sessionDir(id firn.ID) string {
	return filepath.Join(h.dir, "sessions", string(id))
}

func (h *History) objectPath(hash string) string {
	return filepath.Join(h.dir, "objects", hash[:2], hash)
}

func (h *History) pathDir(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(h.dir, "paths", hex.EncodeToString(sum[:16]))
}

// Before records the state of a file that a tool call is about to change. When it returns
// nil, the content is durable. If the file does not exist, content is nil and exists false.
func (h *History) Before(id firn.ID, c Change, content []byte) (State, error) {
	if err := checkID(id); err != nil {
		return State{}, err
	}
	dir := h.sessionDir(id)
	if err := h.fs.MkdirAll(dir); err != nil {
		return State{}, err
	}
	if err := h.store(dir, c.Before, content); err != nil {
		return State{}, fmt.Errorf("keep the content of %s: %w", c.Path, err)
	}
	if err := h.mark(id, c.Path); err != nil {
		return State{}, err
	}
	c.Time, c.After = h.now().UTC(), nil
	return c.Before, h.write(dir, c)
}

// After records the state of a file after a change that [History.Before] recorded.
func (h *History) After(id firn.ID, c Change, content []byte) error {
	if err := checkID(id); err != nil {
		return err
	}
	if c.After == nil {
		return nil
	}
	dir := h.sessionDir(id)
	if err := h.store(dir, *c.After, content); err != nil {
		return fmt.Errorf("keep the content of %s: %w", c.Path, err)
	}
	c.Time = h.now().UTC()
	return h.write(dir, c)
}

// checkID rejects IDs that are not a plain file name.
func checkID(id firn.ID) error {
	if s := string(id); s == "" || s != filepath.Base(s) || strings.HasPrefix(s, ".") {
		return fmt.Errorf("%w session ID %q", firn.ErrInvalid, s)
	}
	return nil
}

// encoder and decoder are created on first use, because most commands need neither.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constant and valid
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxContent+1<<20))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// store stores a content and links it into the directory of a session. A content that is
// stored already is linked without being written again.
func (h *History) store(dir string, s State, content []byte) error {
	if !s.Exists || s.Omitted {
		return nil
	}
	link := filepath.Join(dir, s.Hash)
	if _, err := h.fs.Stat(link); err == nil {
		return nil
	}
	object := h.objectPath(s.Hash)
	err := h.fs.Link(object, link)
	switch {
	case err == nil:
		return h.fs.SyncDir(dir)
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	if err := vfs.WriteFile(h.fs, link, encoder().EncodeAll(content, nil)); err != nil {
		return err
	}
	// Without the shared name the content is stored once per session.
	if h.fs.MkdirAll(filepath.Dir(object)) == nil {
		_ = h.fs.Link(link, object)
	}
	return nil
}

// Content returns a content that a session refers to.
func (h *History) Content(id firn.ID, hash string) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if len(hash) != 2*sha256.Size || strings.Trim(hash, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%w hash %q", firn.ErrInvalid, hash)
	}
	packed, err := h.readAll(filepath.Join(h.sessionDir(id), hash), MaxContent+1<<20)
	if err != nil {
		return nil, err
	}
	content, err := decoder().DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w content %s: %w", firn.ErrCorrupt, hash, err)
	}
	if StateOf(content, 0).Hash != hash {
		return nil, fmt.Errorf("%w content %s: it has another hash", firn.ErrCorrupt, hash)
	}
	return content, nil
}

func (h *History) readAll(path string, limit int64) ([]byte, error) {
	f, err := h.fs.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: %w", path, firn.ErrTooLarge)
	}
	return data, err
}

// mark records that a session changed a path.
func (h *History) mark(id firn.ID, path string) error {
	dir := h.pathDir(path)
	name := filepath.Join(dir, string(id))
	if _, err := h.fs.Stat(name); err == nil {
		return nil
	}
	if err := h.fs.MkdirAll(dir); err != nil {
		return err
	}
	f, err := h.fs.Open(name, vfs.Append)
	if err != nil {
		return err
	}
	return f.Close()
}

// Sessions returns the sessions that changed a path, in the order of their IDs.
func (h *History) Sessions(path string) ([]firn.ID, error) {
	entries, err := h.fs.ReadDir(h.pathDir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ids := make([]firn.ID, 0, len(entries))
	for _, e := range entries {
		ids = append(ids, firn.ID(e.Name()))
	}
	return ids, nil
}

const journalName = "changes.jsonl"

// write appends a line to the journal of a session, durably.
func (h *History) write(dir string, c Change) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := h.fs.Open(filepath.Join(dir, journalName), vfs.Append)
	if err != nil {
		return err
	}
	// The newline at the start ends a line that a crash cut short.
	_, err = f.Write(append(append([]byte{'\n'}, line...), '\n'))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// maxJournal limits the size of a journal that is read.
const maxJournal = 256 << 20

// Changes returns the changes of a session, oldest first. Unreadable lines are skipped.
func (h *History) Changes(id firn.ID) ([]Change, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	data, err := h.readAll(filepath.Join(h.sessionDir(id), journalName), maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseChanges(data), nil
}

// parseChanges decodes a journal. A line with the state after a change completes the last
// unfinished change by the same call of the same path.
func parseChanges(data []byte) []Change {
	type key struct {
		entry      firn.EntryID
		call, path string
	}
	var all []Change
	open := make(map[key]int)
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		var c Change
		if len(line) == 0 || json.Unmarshal(line, &c) != nil || c.Path == "" {
			continue
		}
		k := key{c.Entry, c.Call, c.Path}
		if at, ok := open[k]; ok && c.After != nil {
			all[at].After = c.After
			delete(open, k)
			continue
		}
		if c.After == nil {
			open[k] = len(all)
		}
		all = append(all, c)
	}
	return all
}

// Remove removes the changes of a session, or only those of some entries, and the contents
// that nothing else refers to.
func (h *History) Remove(id firn.ID, entries ...firn.EntryID) error {
	all, err := h.Changes(id)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(c Change) bool { return len(entries) == 0 || slices.Contains(entries, c.Entry) })
	if len(kept) == len(all) && len(entries) > 0 {
		return nil
	}
	dir := h.sessionDir(id)
	names, err := h.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	h.unmark(id, all, kept)
	if len(kept) == 0 {
		err = vfs.RemoveAll(h.fs, dir)
	} else {
		err = h.rewrite(dir, kept)
	}
	needed := hashesOf(kept)
	for _, e := range names {
		hash := e.Name()
		if len(hash) != 2*sha256.Size || needed[hash] {
			continue
		}
		if len(kept) > 0 {
			err = errors.Join(err, h.fs.Remove(filepath.Join(dir, hash)))
		}
		if info, serr := h.fs.Stat(h.objectPath(hash)); serr == nil && info.Links == 1 {
			err = errors.Join(err, h.fs.Remove(h.objectPath(hash)))
		}
	}
	return err
}

// unmark removes a session from the lists of the paths that it no longer changed.
func (h *History) unmark(id firn.ID, all, kept []Change) {
	for _, c := range all {
		if slices.ContainsFunc(kept, func(k Change) bool { return k.Path == c.Path }) {
			continue
		}
		dir := h.pathDir(c.Path)
		if h.fs.Remove(filepath.Join(dir, string(id))) == nil {
			_ = h.fs.Remove(dir) // fails while other sessions are listed
		}
	}
}

// rewrite replaces the journal of a session.
func (h *History) rewrite(dir string, changes []Change) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	for _, c := range changes {
		if err := encoder.Encode(c); err != nil {
			return err
		}
	}
	return vfs.WriteFile(h.fs, filepath.Join(dir, journalName), b.Bytes())
}

func hashesOf(changes []Change) map[string]bool {
	hashes := make(map[string]bool)
	for _, c := range changes {
		hashes[c.Before.Hash] = true
		if c.After != nil {
			hashes[c.After.Hash] = true
		}
	}
	return hashes
}

// Size returns the number of bytes that the contents occupy. It reads all directories and
// is meant for reports.
func (h *History) Size() (int64, error) {
	var total int64
	dirs, err := h.fs.ReadDir(filepath.Join(h.dir, "objects"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, d := range dirs {
		files, derr := h.fs.ReadDir(filepath.Join(h.dir, "objects", d.Name()))
		err = errors.Join(err, derr)
		for _, f := range files {
			if info, ierr := f.Info(); ierr == nil {
				total += info.Size()
			}
		}
	}
	return total, err
}
