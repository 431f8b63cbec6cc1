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

// layout is where Codex keeps its files: by the day, named by time and id.
type layout struct{}

const (
	sessions  = "sessions"
	archived  = "archived_sessions"
	indexFile = "session_index.jsonl"
	prefix    = "rollout-"
	ending    = ".jsonl"
	packed    = ".jsonl.zst"
	// nameTime is how the time is written in a file's name.
	nameTime = "2006-01-02T15-04-05"
)

// Homes returns .codex.
func (layout) Homes() []string { return []string{".codex"} }

// Owns reports whether there is something that only Codex has.
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

// name is a rollout's file name, taken apart.
type name struct {
	// id is the session's: the thread's, and the rollout's if it is one of
	// several of the thread.
	id, thread string
	packed     bool
}

// parseName takes a file's name apart; false if it is no rollout's.
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

// Transcripts yields the rollouts there are. A rollout that is there packed and
// unpacked is the unpacked one.
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

// walk lists a folder and all below it; false if nobody wants more.
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

// id is the id of a session, its own if that can be one.
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

// maxBeginning bounds how much of a rollout is read for what its first line
// says. The long members come last in it.
const maxBeginning = 8 << 10

// meta takes what the first line of a rollout says.
func (l *listing) meta(t *dialect.Transcript) error {
	file, err := l.home.Open(t.Parts[0])
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBeginning))
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	outer := readBeginning(line)
	if outer.text("type") != "session_meta" {
		return nil // what the name says must do
	}
	meta := readBeginning(outer.get("payload"))
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

// readNames reads the index of names. Of several lines for a session the last
// counts; a line that cannot be read counts for nothing.
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
		names[id] = row{title, updated, keep(bytes.TrimSpace(line))}
	}
	return names
}

// maxTries bounds how many ids are tried for a session that is there already.
const maxTries = 1000

// Place names a rollout by the time the session began and its id; another id if
// a rollout has that one already, wherever it lies.
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
			return "", fmt.Errorf("find a place for session %s in Codex's folder: %w", to.Session, err)
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
	return "", fmt.Errorf("find a place for session %s in Codex's folder: %w: it is there too often", to.Session, firn.ErrTooLarge)
}

// Part returns false: a rollout is one file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Index adds a line to the index of names if the session has a title that the
// index does not know.
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
		data = append(data, '\n') // a torn line is not to swallow ours
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

// NameOf is the id in the name of a rollout.
func (layout) NameOf(at string) string {
	n, _ := parseName(at)
	return n.thread
}

// Resume is the command that goes on with a rollout.
func (layout) Resume(at string, to dialect.Target) []string {
	id := threadID(to)
	if n, ok := parseName(at); ok {
		id = n.thread
	}
	return []string{"codex", "resume", id}
}

// Beside names the index of names.
func (layout) Beside() []string { return []string{indexFile} }

// Keeps returns 0: Codex packs old rollouts and deletes none.
func (layout) Keeps(fs.FS) time.Duration { return 0 }
