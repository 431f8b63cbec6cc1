package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// recordsDir is the folder of record transcripts in a mirror.
const recordsDir = "firn-records"

// maxHead is the maximum length of the first line of a record transcript.
const maxHead = 1 << 20

// layout is the layout of record transcripts.
type layout Tool

// Homes returns the tool's usual homes.
func (l layout) Homes() []string { return l.format.Homes }

// FindHomes implements [dialect.Finder].
func (l layout) FindHomes(user fs.FS) []string {
	if l.format.FindHomes == nil {
		return nil
	}
	return l.format.FindHomes(user)
}

// InProjects implements [dialect.Finder].
func (l layout) InProjects() bool { return l.format.InProjects }

// Owns reports whether a directory is a home of the tool.
func (l layout) Owns(home fs.FS) bool { return l.format.Source.Owns(home) }

// SideFiles is empty: the sessions' metadata is in their transcripts.
func (layout) SideFiles() []string { return nil }

// Part returns false: a transcript is a single file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Place fails: nothing is written.
func (l layout) Place(fs.FS, dialect.Target) (string, error) { return "", Tool(l).ReadOnly() }

// Index returns nothing.
func (layout) Index(fs.FS, string, dialect.Target) ([]dialect.File, error) { return nil, nil }

// Resume returns the tool's own command for a session.
func (l layout) Resume(name string, to dialect.Target) []string {
	if l.format.Resume == nil {
		return nil
	}
	if to.As != "" {
		return l.format.Resume(to.As)
	}
	return l.format.Resume(strings.TrimSuffix(path.Base(name), ".jsonl"))
}

// Retention returns how long the tool keeps sessions.
func (l layout) Retention(home fs.FS) time.Duration {
	if l.format.Retention == nil {
		return 0
	}
	if v, ok := home.(*view); ok {
		home = v.home
	}
	return l.format.Retention(home)
}

// Transcripts yields the sessions of a home, of its view or of a mirror.
func (l layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	v, ok := home.(*view)
	if !ok && !isMirror(home) {
		v = &view{format: l.format, home: home}
	}
	return func(yield func(dialect.Transcript, error) bool) {
		if v == nil {
			l.mirrored(home, yield)
			return
		}
		v.list()
		for _, err := range v.faults {
			if !yield(dialect.Transcript{}, err) {
				return
			}
		}
		for _, name := range v.names {
			if !yield(transcript(l.format.Name, name, v.sessions[name].Head), nil) {
				return
			}
		}
	}
}

// mirrored yields the transcripts of a mirror.
func (l layout) mirrored(home fs.FS, yield func(dialect.Transcript, error) bool) {
	entries, err := fs.ReadDir(home, recordsDir)
	if err != nil {
		yield(dialect.Transcript{}, err)
		return
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".jsonl") {
			continue
		}
		name := path.Join(recordsDir, e.Name())
		head, err := readHeadOf(home, name)
		t := transcript(l.format.Name, name, head)
		if err != nil {
			t = dialect.Transcript{Parts: []string{name}}
		}
		if !yield(t, err) {
			return
		}
	}
}

// readHeadOf reads the first line of a transcript.
func readHeadOf(home fs.FS, name string) (head Head, err error) {
	f, err := home.Open(name)
	if err != nil {
		return head, err
	}
	defer f.Close() // read only
	line, err := bufio.NewReader(io.LimitReader(f, maxHead)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return head, err
	}
	switch ok := Unmarshal(line, &head); {
	case !ok || head.Type != HeadType:
		return head, fmt.Errorf("read %s: %w: it does not begin with the head of a session", name, firn.ErrCorrupt)
	case head.Version > Version:
		return head, fmt.Errorf("read %s: %w: its version is %d, this firn reads %d; use a newer firn", name, firn.ErrUnsupported, head.Version, Version)
	}
	return head, nil
}

// transcript describes a session for lists. The name of its file contains firn's ID.
func transcript(tool dialect.Name, name string, head Head) dialect.Transcript {
	t := dialect.Transcript{
		ID: firn.ID(strings.TrimSuffix(path.Base(name), ".jsonl")), Name: head.ID, Parts: []string{name},
		Title: Clean(head.Title), CWD: Clean(head.CWD), Sub: head.Sub, Archived: head.Archived, Created: head.Created, Updated: head.Updated,
	}
	if head.Parent != "" {
		t.Parent = sessionID(tool, head.Parent)
	}
	return t
}

// RecordKey implements [dialect.Keyed]: the type and ID of a record.
func (layout) RecordKey(line []byte) string {
	l, err := readLine(line)
	if err != nil || l.kind != HeadType && l.id == "" {
		return ""
	}
	return l.kind + "/" + l.id
}

// isMirror reports whether a directory has record transcripts.
func isMirror(home fs.FS) bool {
	info, err := fs.Stat(home, recordsDir)
	return err == nil && info.IsDir()
}
