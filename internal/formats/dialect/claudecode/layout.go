package claudecode

import (
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

// layout is Claude Code's file layout: a folder per working directory, a file per session
// and, since 2.1, a folder next to the file for its sub-agents.
type layout struct{}

const (
	projects   = "projects"
	lines      = ".jsonl"
	sidecar    = "custom-title.json"
	subagents  = "subagents"
	agentStem  = "agent-"
	about      = ".meta.json"
	keptByThem = 30 * 24 * time.Hour
)

// Homes returns .claude. CLAUDE_CONFIG_DIR may set another.
func (layout) Homes() []string { return []string{".claude"} }

// SideFiles returns the patterns of title files and of sub-agents' metadata.
func (layout) SideFiles() []string {
	return []string{
		path.Join(projects, "*", "*", sidecar),
		path.Join(projects, "*", agentStem+"*"+about),
		path.Join(projects, "*", "*", subagents, "**", "*"+about),
	}
}

// Owns reports whether there are folders with Claude Code's naming scheme.
func (layout) Owns(home fs.FS) bool {
	dirs, err := fs.ReadDir(home, projects)
	if err != nil {
		return false
	}
	for _, d := range dirs {
		if d.IsDir() && isProject(d.Name()) {
			return true
		}
	}
	for _, name := range []string{"shell-snapshots", "statsig", "todos", "file-history", "history.jsonl"} {
		if _, err := fs.Stat(home, name); err == nil {
			return true
		}
	}
	return false
}

// Transcripts yields the sessions and the sub-agents' transcripts that have their own
// files.
func (layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		dirs, err := fs.ReadDir(home, projects)
		if err != nil {
			yield(dialect.Transcript{}, fmt.Errorf("listing Claude Code's projects: %w", err))
			return
		}
		w := walk{home: home, yield: yield, taken: make(map[firn.ID]bool)}
		for _, d := range dirs {
			if d.IsDir() && isFolded(d.Name()) && !w.project(path.Join(projects, d.Name())) {
				return
			}
		}
	}
}

// Place returns the path of a new session.
func (layout) Place(home fs.FS, to dialect.Target) (string, error) {
	dir := path.Join(projects, projectDir(to.CWD))
	dirs, _ := fs.ReadDir(home, projects) // may not exist yet
	if len(dir) > len(projects)+1+longestName {
		dir = longDir(dirs, dir)
	}
	for n := 1; n < 1000; n++ {
		name := sessionUUID(to.Session)
		if n > 1 {
			name = dialect.UUID(string(to.Session), "file "+strconv.Itoa(n))
		}
		if !sessionExists(home, dirs, name) {
			return path.Join(dir, name+lines), nil
		}
	}
	return "", fmt.Errorf("placing session %s: %w: there are a thousand files of its name", to.Session, firn.ErrConflict)
}

// sessionExists reports whether any project has a session of this name, since Claude Code
// finds sessions by ID alone.
func sessionExists(home fs.FS, dirs []fs.DirEntry, name string) bool {
	for _, d := range dirs {
		for _, file := range []string{name + lines, name} {
			if _, err := fs.Stat(home, path.Join(projects, d.Name(), file)); err == nil {
				return true
			}
		}
	}
	return false
}

// Part returns false: a session is a single file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Index returns the new title file if the session has one. Claude Code reads it before the
// transcript.
func (layout) Index(home fs.FS, file string, to dialect.Target) ([]dialect.File, error) {
	name := path.Join(strings.TrimSuffix(file, lines), sidecar)
	old, err := fs.ReadFile(home, name)
	if err != nil || to.Title == "" || textOf(old, "customTitle") == to.Title {
		return nil, nil
	}
	data := []byte("{")
	r := rawjson.New(old)
	if r.Object() {
		for r.Member() {
			key, value := r.KeyText(), r.Raw()
			if key != "customTitle" {
				data = append(rawjson.AppendString(data, key), ':')
				data = append(append(data, value...), ',')
			}
		}
	}
	if r.End() != nil {
		data = []byte("{")
	}
	data = append(rawjson.AppendString(append(data, `"customTitle":`...), to.Title), '}')
	return []dialect.File{{Path: name, Data: data}}, nil
}

// NameOf returns the file name without its extension.
func (layout) NameOf(file string) string { return strings.TrimSuffix(path.Base(file), lines) }

// Resume returns the command, to be run in the session's directory.
func (layout) Resume(file string, _ dialect.Target) []string {
	return []string{"claude", "--resume", strings.TrimSuffix(path.Base(file), lines)}
}

// Retention returns cleanupPeriodDays from the settings. Zero days mean that no sessions are
// kept, which is returned as the shortest positive duration.
func (layout) Retention(home fs.FS) time.Duration {
	settings, err := fs.ReadFile(home, "settings.json")
	if err != nil {
		return keptByThem
	}
	days, ok := intOf(settings, "cleanupPeriodDays")
	const most = int64(1<<63-1) / int64(24*time.Hour)
	switch {
	case !ok || days < 0:
		return keptByThem
	case days == 0:
		return time.Nanosecond
	case days > most:
		return 0
	}
	return time.Duration(days) * 24 * time.Hour
}

// walk iterates over the projects.
type walk struct {
	home  fs.FS
	yield func(dialect.Transcript, error) bool
	taken map[firn.ID]bool
}

// project yields the transcripts of one project. It returns false if iteration was stopped.
func (w *walk) project(dir string) bool {
	files, err := fs.ReadDir(w.home, dir)
	if err != nil && len(files) == 0 {
		return w.yield(dialect.Transcript{}, fmt.Errorf("listing %s: %w", dir, err))
	}
	for _, f := range files {
		name := path.Join(dir, f.Name())
		switch stem, ok := strings.CutSuffix(f.Name(), lines); {
		case f.IsDir():
			if !w.subs(path.Join(name, subagents), f.Name()) {
				return false
			}
		case !ok || stem == "":
		case strings.HasPrefix(stem, agentStem):
			if !w.sub(name, stem, w.session(name)) {
				return false
			}
		default:
			t := dialect.Transcript{Name: stem, Title: w.title(path.Join(dir, stem, sidecar))}
			if !w.emit(t, name, stem) {
				return false
			}
		}
	}
	return true
}

// subs yields the sub-agents of a session at any depth.
func (w *walk) subs(dir, session string) bool {
	files, err := fs.ReadDir(w.home, dir)
	if err != nil && len(files) == 0 {
		return true // most have none
	}
	for _, f := range files {
		name := path.Join(dir, f.Name())
		if f.IsDir() {
			if !w.subs(name, session) {
				return false
			}
			continue
		}
		if stem, ok := strings.CutSuffix(f.Name(), lines); ok && stem != "" && !w.sub(name, stem, session) {
			return false
		}
	}
	return true
}

// sub yields a sub-agent's transcript.
func (w *walk) sub(file, stem, session string) bool {
	t := dialect.Transcript{Name: stem, Sub: true}
	if parent := firn.ID(session); parent.Check() == nil {
		t.Parent = parent
		stem = session + "." + stem
	}
	if meta, err := fs.ReadFile(w.home, strings.TrimSuffix(file, lines)+about); err == nil && rawjson.Valid(meta) == nil {
		t.Row = rawjson.CleanLine(meta)
		t.Title = textOf(meta, "description")
	}
	return w.emit(t, file, stem)
}

// emit yields a transcript with a unique ID.
func (w *walk) emit(t dialect.Transcript, file, name string) bool {
	t.ID = firn.ID(name)
	if t.ID.Check() != nil || w.taken[t.ID] {
		t.ID = firn.ID(dialect.UUID("claudecode", file))
	}
	w.taken[t.ID] = true
	t.Parts = []string{file}
	return w.yield(t, nil)
}

// title reads the title file of a session.
func (w *walk) title(file string) string {
	data, err := fs.ReadFile(w.home, file)
	if err != nil {
		return ""
	}
	return textOf(data, "customTitle")
}

// session reads the session ID from the first line of a sub-agent's file.
func (w *walk) session(file string) string {
	f, err := w.home.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	const enough = 64 << 10
	start, _ := io.ReadAll(io.LimitReader(f, enough)) // a partial read is enough
	r := rawjson.New(start)
	if !r.Object() {
		return ""
	}
	for r.Member() {
		if string(r.Key()) == "sessionId" {
			s, _ := r.Text()
			return s
		}
		r.Skip()
	}
	return ""
}
