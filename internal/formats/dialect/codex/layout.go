package codex

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// layout is Codex's file layout: a folder per day, files named by time and ID.
type layout struct{}

const (
	sessions  = "sessions"
	archived  = "archived_sessions"
	indexFile = "session_index.jsonl"
	prefix    = "rollout-"
	ending    = ".jsonl"
	packed    = ".jsonl.zst"
	// nameTime is the time format in file names.
	nameTime = "2006-01-02T15-04-05"
)

// Homes returns .codex.
func (layout) Homes() []string { return []string{".codex"} }

// Owns reports whether the directory contains files that only Codex has.
func (layout) Owns(home fs.FS) bool {
	for _, name := range []string{indexFile, archived} {
		if _, err := fs.Stat(home, name); err == nil {
			return true
		}
	}
	entries, err := fs.ReadDir(home, sessions)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if _, ok := parseName(entry.Name()); ok && !entry.IsDir() {
			return true
		}
		if _, err := strconv.Atoi(entry.Name()); err == nil && entry.IsDir() && len(entry.Name()) == 4 {
			return true
		}
	}
	return false
}

// name is a parsed file name of a rollout.
type name struct {
	// id is the session ID: the thread ID, with the rollout ID appended if the thread has
	// several rollouts.
	id, thread string
	packed     bool
}

// parseName parses a file name. It returns false if it is not a rollout's.
func parseName(file string) (n name, ok bool) {
	stem := path.Base(file)
	if stem, n.packed = strings.CutSuffix(stem, packed); !n.packed {
		if stem, ok = strings.CutSuffix(stem, ending); !ok {
			return name{}, false
		}
	}
	rest, ok := strings.CutPrefix(stem, prefix)
	if !ok || len(rest) <= len(nameTime)+1 || rest[len(nameTime)] != '-' {
		return name{}, false
	}
	if _, err := time.Parse(nameTime, rest[:len(nameTime)]); err != nil {
		return name{}, false
	}
	n.id = rest[len(nameTime)+1:]
	n.thread, _, _ = strings.Cut(n.id, "_")
	return n, n.thread != ""
}

// Transcripts yields the rollouts. If a rollout exists both compressed and uncompressed,
// the uncompressed file is used.
func (layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		l := listing{home: home, names: readNames(home), yield: yield, taken: make(map[firn.ID]bool)}
		if l.walk(sessions, false) {
			l.walk(archived, true)
		}
	}
}

// listing is a walk over a home.
type listing struct {
	home  fs.FS
	names map[string]row
	yield func(dialect.Transcript, error) bool
	taken map[firn.ID]bool
}

// walk lists a folder recursively. It returns false if iteration was stopped.
func (l *listing) walk(root string, archived bool) bool {
	wanted := true
	_ = fs.WalkDir(l.home, root, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			wanted = l.yield(dialect.Transcript{Name: path.Base(at)}, fmt.Errorf("list the sessions of Codex in %s: %w", at, err))
			if entry != nil && entry.IsDir() && wanted {
				return fs.SkipDir
			}
		case !entry.IsDir():
			wanted = l.file(at, archived)
		}
		if !wanted {
			return fs.SkipAll
		}
		return nil
	})
	return wanted
}

// file lists a file.
func (l *listing) file(at string, archived bool) bool {
	base := path.Base(at)
	isRollout := strings.HasSuffix(base, ending) || strings.HasSuffix(base, packed)
	n, ok := parseName(base)
	t := dialect.Transcript{Name: n.id, Parts: []string{at}, Archived: archived, Compressed: n.packed}
	switch {
	case !isRollout || strings.HasPrefix(base, "."):
		return true
	case !ok:
		t.Name = base
		return l.yield(t, fmt.Errorf("the session of Codex %s: %w: its name is not that of a rollout", at, firn.ErrUnsupported))
	case n.packed:
		if _, err := fs.Stat(l.home, strings.TrimSuffix(at, ".zst")); err == nil {
			return true
		}
	default:
		if err := l.meta(&t); err != nil {
			return l.yield(t, fmt.Errorf("read the first line of the session of Codex %s: %w", at, err))
		}
	}
	if row, ok := l.names[n.thread]; ok {
		t.Title, t.Row, t.Updated = row.name, row.line, row.updated
	}
	t.ID = l.id(n, base, at)
	return l.yield(t, nil)
}

// id returns the ID of a session: its own if that is a valid [firn.ID].
func (l *listing) id(n name, base, at string) firn.ID {
	for _, candidate := range []string{n.id, strings.TrimSuffix(strings.TrimSuffix(base, ".zst"), ending)} {
		id := firn.ID(candidate)
		if id.Check() == nil && !l.taken[id] {
			l.taken[id] = true
			return id
		}
	}
	id := firn.ID(dialect.UUID(string(dialect.Codex), at))
	l.taken[id] = true
	return id
}

// maxPrefix limits how many bytes of the first line of a rollout are read. The long members
// are last.
const maxPrefix = 8 << 10

// meta fills in the metadata from the first line of a rollout.
func (l *listing) meta(t *dialect.Transcript) error {
	file, err := l.home.Open(t.Parts[0])
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxPrefix))
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	outer := readPrefix(line)
	if outer.text("type") != "session_meta" {
		return nil // use the metadata from the file name only
	}
	meta := readPrefix(outer.get("payload"))
	t.CWD = meta.text("cwd")
	t.Created, _ = parseTime(meta.text("timestamp"))
	if parent := firn.ID(parentOf(meta)); parent.Check() == nil {
		t.Parent = parent
	}
	t.Sub = meta.text("thread_source") == "subagent" || meta.object("source").get("subagent") != nil
	t.Agent = meta.text("agent_nickname")
	return nil
}

// row is the name of a session in the index.
type row struct {
	name    string
	updated time.Time
	line    []byte
}

// readNames reads the index of names. Of several lines for a session the last counts;
// unreadable lines are skipped.
func readNames(home fs.FS) map[string]row {
	names := make(map[string]row)
	data, err := fs.ReadFile(home, indexFile)
	if err != nil {
		return names
	}
	for line := range bytes.Lines(data) {
		f, err := readMembers(bytes.TrimSpace(line))
		id, title := f.text("id"), strings.TrimSpace(f.text("thread_name"))
		if err != nil || id == "" || title == "" {
			continue
		}
		updated, _ := parseTime(f.text("updated_at"))
		names[id] = row{title, updated, rawjson.CleanCopy(bytes.TrimSpace(line))}
	}
	return names
}

// maxTries limits how many IDs are tried if the ID of a session is in use.
const maxTries = 1000

// Place returns the path of a rollout, named by creation time and ID. It chooses another ID
// if any rollout already has that one.
func (layout) Place(home fs.FS, to dialect.Target) (string, error) {
	taken := make(map[string]bool)
	for _, root := range []string{sessions, archived} {
		err := fs.WalkDir(home, root, func(at string, entry fs.DirEntry, err error) error {
			if n, ok := parseName(at); err == nil && ok && !entry.IsDir() {
				taken[n.thread] = true
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return "", fmt.Errorf("find a path for session %s in Codex's directory: %w", to.Session, err)
		}
	}
	at := to.Created
	if at.IsZero() {
		at = to.Updated
	}
	if at.Year() < 1 || at.Year() > 9999 {
		at = time.Unix(0, 0).UTC()
	}
	for try := range maxTries {
		id := threadID(to)
		if try > 0 {
			id = dialect.UUID(string(dialect.Codex), string(to.Session)+"\x00"+strconv.Itoa(try))
		}
		if !taken[id] {
			return path.Join(sessions, at.Format("2006/01/02"), prefix+at.Format(nameTime)+"-"+id+ending), nil
		}
	}
	return "", fmt.Errorf("find a path for session %s in Codex's directory: %w: too many files of that name", to.Session, firn.ErrTooLarge)
}

// Part returns false: a rollout is one file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Index adds a line to the index of names if the session's title is not in the index.
func (layout) Index(home fs.FS, at string, to dialect.Target) ([]dialect.File, error) {
	n, ok := parseName(at)
	title := strings.TrimSpace(to.Title)
	if !ok || title == "" || readNames(home)[n.thread].name == title {
		return nil, nil
	}
	data, err := fs.ReadFile(home, indexFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the index of Codex: %w", err)
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(data, '\n') // a torn last line must not absorb the new one
	}
	updated := to.Updated
	if updated.IsZero() {
		updated = to.Created
	}
	data = rawjson.AppendString(append(data, `{"id":`...), n.thread)
	data = rawjson.AppendString(append(data, `,"thread_name":`...), title)
	data = rawjson.AppendString(append(data, `,"updated_at":`...), updated.UTC().Format(time.RFC3339Nano))
	return []dialect.File{{Path: indexFile, Data: append(data, "}\n"...)}}, nil
}

// NameOf returns the ID in the file name of a rollout.
func (layout) NameOf(at string) string {
	n, _ := parseName(at)
	return n.thread
}

// Resume returns the command that resumes a rollout.
func (layout) Resume(at string, to dialect.Target) []string {
	id := threadID(to)
	if n, ok := parseName(at); ok {
		id = n.thread
	}
	return []string{"codex", "resume", id}
}

// SideFiles returns the index of names.
func (layout) SideFiles() []string { return []string{indexFile} }

// Retention returns 0: Codex compresses old rollouts and deletes none.
func (layout) Retention(fs.FS) time.Duration { return 0 }
