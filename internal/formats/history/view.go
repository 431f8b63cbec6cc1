package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// view is a tool's home as a folder of record transcripts. A transcript is made when it is
// read. The sessions are listed again with every listing, and a transcript is made of their
// state at that time or later.
type view struct {
	format Format
	home   fs.FS

	mu       sync.Mutex
	listed   bool
	names    []string
	sessions map[string]Session
	faults   []error
	// last is the transcript made last: after a file's size its contents are wanted.
	last     string
	lastData []byte
}

// newView returns the view of a home. A mirror is returned unchanged.
func newView(f Format, home fs.FS) fs.FS {
	if isMirror(home) {
		return home
	}
	return &view{format: f, home: home}
}

// list lists the sessions.
func (v *view) list() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refresh()
}

// refresh lists the sessions. The lock must be held.
func (v *view) refresh() {
	v.listed, v.names, v.faults, v.last = true, nil, nil, ""
	v.sessions = make(map[string]Session)
	for s, err := range v.format.Source.Sessions(v.home) {
		if err != nil {
			v.faults = append(v.faults, err)
			continue
		}
		if s.Updated.IsZero() {
			s.Updated = s.Created
		}
		name := path.Join(recordsDir, string(sessionID(v.format.Name, s.ID))+".jsonl")
		for n := 2; v.has(name); n++ { // the tool has two sessions with this ID
			name = path.Join(recordsDir, dialect.UUID(string(v.format.Name), fmt.Sprintf("%s/%d", s.ID, n))+".jsonl")
		}
		v.names = append(v.names, name)
		v.sessions[name] = s
	}
}

func (v *view) has(name string) bool { _, ok := v.sessions[name]; return ok }

// session returns the session of a file.
func (v *view) session(op, name string) (Session, error) {
	if !v.listed {
		v.refresh()
	}
	s, ok := v.sessions[name]
	if !ok {
		return s, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return s, nil
}

// Stat implements [fs.StatFS].
func (v *view) Stat(name string) (fs.FileInfo, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, err := v.session("stat", name)
	if err != nil {
		return nil, err
	}
	data, err := v.make(name, s)
	if err != nil {
		return nil, err
	}
	return fileInfo{path.Base(name), int64(len(data)), s.Updated}, nil
}

// Open implements [fs.FS].
func (v *view) Open(name string) (fs.File, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, err := v.session("open", name)
	if err != nil {
		return nil, err
	}
	data, err := v.make(name, s)
	if err != nil {
		return nil, err
	}
	return &file{bytes.NewReader(data), fileInfo{path.Base(name), int64(len(data)), s.Updated}}, nil
}

// make returns the transcript of a session.
func (v *view) make(name string, s Session) ([]byte, error) {
	if v.last == name {
		return v.lastData, nil
	}
	data, err := render(v.format.Name, s)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	v.last, v.lastData = name, data
	return data, nil
}

// render returns a record transcript.
func render(tool dialect.Name, s Session) ([]byte, error) {
	records, err := s.Records()
	if err != nil {
		return nil, err
	}
	s.Head.Type, s.Head.Tool, s.Head.Version = HeadType, tool, Version
	head, err := json.Marshal(s.Head)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w: %w", s.ID, firn.ErrCorrupt, err)
	}
	size := len(head) + 1
	for _, r := range records {
		size += len(r) + 1
	}
	data := append(append(make([]byte, 0, size), head...), '\n')
	for _, r := range records {
		data = append(append(data, r...), '\n')
	}
	return data, nil
}

// Stamp implements [dialect.Stamper]: a digest of the names, sizes and times of the files
// that hold the sessions.
func (v *view) Stamp(trusted func(time.Time) bool) string {
	sum := sha256.New()
	for _, name := range v.format.Source.Files(v.home) {
		info, err := fs.Stat(v.home, name)
		if err != nil || !trusted(info.ModTime()) {
			return ""
		}
		fmt.Fprintf(sum, "%s\x00%d\x00%d\x00", name, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// file is an open transcript.
type file struct {
	*bytes.Reader
	info fileInfo
}

var _ interface {
	fs.File
	io.ReaderAt
	io.Seeker
} = (*file)(nil)

// Stat implements [fs.File].
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements [fs.File].
func (*file) Close() error { return nil }

// fileInfo describes a transcript.
type fileInfo struct {
	name string
	size int64
	at   time.Time
}

// Name implements [fs.FileInfo].
func (i fileInfo) Name() string { return i.name }

// Size implements [fs.FileInfo].
func (i fileInfo) Size() int64 { return i.size }

// Mode implements [fs.FileInfo].
func (fileInfo) Mode() fs.FileMode { return 0o400 }

// ModTime implements [fs.FileInfo].
func (i fileInfo) ModTime() time.Time { return i.at }

// IsDir implements [fs.FileInfo].
func (fileInfo) IsDir() bool { return false }

// Sys implements [fs.FileInfo].
func (fileInfo) Sys() any { return nil }
