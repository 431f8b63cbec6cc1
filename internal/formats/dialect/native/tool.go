package native

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// Tool implements dialect.Tool for firn's own sessions.
type Tool struct{}

// NewTool returns the native tool.
func NewTool() Tool { return Tool{} }

// Name returns dialect.Native.
func (Tool) Name() dialect.Name { return dialect.Native }

// Limits is empty: firn can write all it can read.
func (Tool) Limits() []dialect.Limit { return nil }

// Scanner returns a scanner for a transcript in firn's format or version 3 of pi's.
func (Tool) Scanner(from dialect.Origin) dialect.Scanner {
	return &scanner{from: from}
}

// Glance reads the fields that the tree needs from a valid line. It fails with ErrCorrupt
// for any other.
func (Tool) Glance(line []byte) (firn.Glance, error) {
	if !bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte("}")) {
		return firn.Glance{}, corrupt("glancing at an entry", errors.New("it does not end as an object does"))
	}
	return Dialect{}.Glance(line)
}

// scanner adds context to the decoder: the entry before each line.
type scanner struct {
	from   dialect.Origin
	begun  bool
	last   firn.EntryID
	number int
	out    []firn.Entry
}

// Scan reads the next line.
func (s *scanner) Scan(line []byte) ([]firn.Entry, error) {
	s.number++
	e, err := Dialect{}.Decode(line)
	if err != nil {
		return nil, err
	}
	s.out = s.out[:0]
	_, isHeader := e.Body.(*firn.Header)
	if !s.begun && !isHeader {
		s.out = append(s.out, s.header(e.Time))
	}
	if isHeader && s.begun {
		e = firn.Entry{Time: e.Time, Body: &firn.Custom{Type: dialect.LineType(dialect.Native, "session"), Data: clean(line)}}
		isHeader = false
	}
	s.begun = true
	if !isHeader {
		s.setParent(&e, line)
	}
	s.out = append(s.out, e)
	return s.out, nil
}

// setParent makes an entry without a parent member a child of the previous entry.
func (s *scanner) setParent(e *firn.Entry, line []byte) {
	glance, err := Dialect{}.Glance(line)
	if e.ID == "" {
		e.ID = firn.EntryID(fmt.Sprintf("l%06d", s.number))
		e.Parent = s.last
	} else if err == nil && glance.NoParent {
		e.Parent = s.last
	}
	s.last = e.ID
}

// header returns the header for a transcript without one.
func (s *scanner) header(at time.Time) firn.Entry {
	return firn.Entry{Time: at, Body: &firn.Header{Session: s.from.ID, Version: 3, Firn: 1, CWD: s.from.CWD, Agent: s.from.Agent, Key: s.from.Key}}
}

func clean(line []byte) []byte {
	c, _ := rawjson.Clean(line)
	return append([]byte(nil), c...)
}

// Finish returns nothing.
func (*scanner) Finish() []firn.Entry { return nil }

// Printer returns a printer for a transcript.
func (Tool) Printer(to dialect.Target) dialect.Printer { return &printer{to: to} }

type printer struct {
	to      dialect.Target
	started bool
}

// Print appends the entry as a line. The header of another tool's session is marked as
// firn's.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	was := len(dst)
	if h, ok := e.Body.(*firn.Header); ok {
		ours := *h
		ours.Version, ours.Firn = 3, 1
		if p.to.Session != "" {
			ours.Session = p.to.Session
		}
		e.Body = &ours
	} else if !p.started {
		header := firn.Entry{Time: p.to.Created, Body: &firn.Header{Session: p.to.Session, Version: 3, Firn: 1, CWD: p.to.CWD, Agent: p.to.Agent, Key: p.to.Key}}
		line, err := Dialect{}.Append(dst, header)
		if err != nil {
			return dst[:was], err
		}
		dst = append(line, '\n')
	}
	line, err := Dialect{}.Append(dst, e)
	if err != nil {
		return dst[:was], err
	}
	p.started = true
	return append(line, '\n'), nil
}

// Repeat records that the transcript has lines.
func (p *printer) Repeat(firn.Entry, [][]byte) { p.started = true }

// Finish appends nothing.
func (*printer) Finish(dst []byte) ([]byte, error) { return dst, nil }

// Layout returns the layout of the transcripts in a firn home.
func (Tool) Layout() dialect.Layout { return layout{} }

type layout struct{}

// Homes returns the default location of firn's home.
func (layout) Homes() []string { return []string{".firn"} }

// SideFiles is empty.
func (layout) SideFiles() []string { return nil }

// Owns looks for agents' folders and a session file with firn's header in one of them.
func (l layout) Owns(home fs.FS) bool {
	for t, err := range l.Transcripts(home) {
		if err == nil {
			return containsMark(home, t.Parts[0], `"firn":`)
		}
	}
	return false
}

// containsMark reports whether the first kilobyte of a file contains the mark.
func containsMark(home fs.FS, name, mark string) bool {
	f, err := home.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, 1024)
	n, _ := f.Read(first)
	return strings.Contains(string(first[:n]), mark)
}

// Transcripts yields agents/<agent>/sessions/*.jsonl, grouping parts.
func (layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		names, err := fs.Glob(home, "agents/*/sessions/*.jsonl")
		if err != nil {
			yield(dialect.Transcript{}, err)
			return
		}
		there := make(map[string]bool, len(names))
		for _, name := range names {
			there[name] = true
		}
		for _, name := range names {
			id := firn.ID(strings.TrimSuffix(path.Base(name), ".jsonl"))
			if id.Check() != nil {
				continue // a part of another transcript, or an unknown file
			}
			t := dialect.Transcript{ID: id, Name: string(id), Parts: []string{name}, Agent: strings.Split(name, "/")[1]}
			for n := 2; ; n++ {
				part := fmt.Sprintf("%s_part%d.jsonl", strings.TrimSuffix(name, ".jsonl"), n)
				if !there[part] {
					break
				}
				t.Parts = append(t.Parts, part)
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// Place returns the path of a new transcript.
func (layout) Place(home fs.FS, to dialect.Target) (string, error) {
	if err := to.Session.Check(); err != nil {
		return "", err
	}
	agent := to.Agent
	if agent == "" {
		agent = "main"
	}
	name := path.Join("agents", agent, "sessions", string(to.Session)+".jsonl")
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("placing session %s of agent %q: %w: that makes no file name", to.Session, agent, firn.ErrInvalid)
	}
	if _, err := fs.Stat(home, name); err == nil {
		return "", fmt.Errorf("place session %s: %w: it already exists", to.Session, firn.ErrConflict)
	}
	return name, nil
}

// Part starts a new part at 50 MB.
func (layout) Part(name string, size, more int64) (string, bool) {
	if size == 0 || size+more <= 50_000_000 {
		return "", false
	}
	stem := strings.TrimSuffix(name, ".jsonl")
	n := 1
	if at := strings.LastIndex(stem, "_part"); at >= 0 {
		if _, err := fmt.Sscanf(stem[at:], "_part%d", &n); err == nil {
			stem = stem[:at]
		}
	}
	return fmt.Sprintf("%s_part%d.jsonl", stem, n+1), true
}

// Index is empty: the store maintains its own.
func (layout) Index(fs.FS, string, dialect.Target) ([]dialect.File, error) { return nil, nil }

// Resume returns the firn command that resumes the session.
func (layout) Resume(_ string, to dialect.Target) []string {
	return []string{"firn", "chat", "--resume", string(to.Session)}
}

// Retention returns 0: sessions are kept forever.
func (layout) Retention(fs.FS) time.Duration { return 0 }
