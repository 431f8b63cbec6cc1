package openclaw

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// layout is where OpenClaw keeps its files:
//
//	agents/<agent>/sessions/sessions.json
//	agents/<agent>/sessions/<session>.jsonl
//	agents/<agent>/sessions/<session>-topic-<thread>.jsonl
//	agents/<agent>/sessions/<session>.jsonl.reset.<time>, .deleted.<time>, .bak.<time>
//
// and in the oldest homes sessions/ at the top.
type layout struct{}

// Homes are the names that the program had, the present one first.
func (layout) Homes() []string { return []string{".openclaw", ".clawdbot", ".clawdia"} }

// Beside names the tables of sessions.
func (layout) Beside() []string {
	return []string{path.Join("agents", "*", "sessions", tableName), path.Join("sessions", tableName)}
}

// configs are the names of the settings, the newest first.
var configs = []string{"openclaw.json", "clawdbot.json", "clawdia.json"}

// Owns reports whether there are OpenClaw's settings beside agents or sessions,
// or agents with what only OpenClaw keeps for them. That there are sessions of
// agents is not enough: firn's own home has these, too.
func (layout) Owns(home fs.FS) bool {
	for _, name := range configs {
		if isFile(home, name) {
			return true
		}
	}
	if exists(home, "config.toml") || exists(home, "commit") {
		return false
	}
	for _, dir := range sessionDirs(home) {
		if isFile(home, path.Join(dir, tableName)) && !isFirns(home, dir) {
			return true
		}
	}
	return false
}

// isFirns reports whether the first transcript of a directory was written by
// firn, whose folders are laid out alike.
func isFirns(home fs.FS, dir string) bool {
	entries, err := fs.ReadDir(home, dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".jsonl" {
			continue
		}
		f, err := home.Open(path.Join(dir, e.Name()))
		if err != nil {
			return false
		}
		defer f.Close() // only read
		first := make([]byte, 1024)
		n, _ := f.Read(first)
		line, _, _ := bytes.Cut(first[:n], []byte{'\n'})
		return bytes.Contains(line, []byte(`"firn":`))
	}
	return false
}

func exists(home fs.FS, name string) bool {
	_, err := fs.Stat(home, name)
	return err == nil
}

func isFile(home fs.FS, name string) bool {
	info, err := fs.Stat(home, name)
	return err == nil && !info.IsDir()
}

// sessionDirs lists the directories in which there are transcripts.
func sessionDirs(home fs.FS) []string {
	var dirs []string
	agents, _ := fs.ReadDir(home, "agents")
	for _, agent := range agents {
		if agent.IsDir() {
			dirs = append(dirs, path.Join("agents", agent.Name(), "sessions"))
		}
	}
	dirs = append(dirs, "sessions")
	return slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := fs.Stat(home, dir)
		return err != nil || !info.IsDir()
	})
}

// agentOf is the agent that a directory of sessions belongs to.
func agentOf(dir string) string {
	if dir == "sessions" {
		return mainAgent
	}
	return path.Base(path.Dir(dir))
}

// Transcripts yields the files there are, with the row of the table that leads
// to each. A table that makes no sense is as good as none.
func (layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		list := listing{ids: make(map[string]bool), keys: make(map[string]firn.ID)}
		for _, dir := range sessionDirs(home) {
			if err := list.read(home, dir); err != nil && !yield(dialect.Transcript{Parts: []string{dir}}, err) {
				return
			}
		}
		for _, t := range list.transcripts() {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// listing is what was found in a home.
type listing struct {
	found []found
	ids   map[string]bool
	keys  map[string]firn.ID
}

// found is a transcript and the row that leads to it.
type found struct {
	dialect.Transcript
	name fileName
	row  *row
}

// read takes what is in one directory.
func (l *listing) read(home fs.FS, dir string) error {
	entries, err := fs.ReadDir(home, dir)
	rows, tableErr := readTable(home, dir)
	if tableErr != nil {
		rows = nil // files are the truth
	}
	for _, entry := range entries {
		name, ok := parseName(entry.Name())
		if entry.IsDir() || !ok {
			continue
		}
		f := found{name: name, row: rows.rowOf(entry.Name(), name)}
		f.Parts, f.Agent = []string{path.Join(dir, entry.Name())}, agentOf(dir)
		f.Archived, f.Compressed = name.why != "", name.packed
		l.found = append(l.found, f)
	}
	if err != nil {
		return fmt.Errorf("looking for sessions of OpenClaw in %s: %w", dir, err)
	}
	return nil
}

// rowOf finds the row that leads to a file: the one that was used last if
// several do. What was put aside has none.
func (t table) rowOf(file string, name fileName) *row {
	if name.why != "" {
		return nil
	}
	var best *row
	for i := range t {
		if r := &t[i]; r.leadsTo(file, name) && (best == nil || r.millis("updatedAt") > best.millis("updatedAt")) {
			best = r
		}
	}
	return best
}

// leadsTo reports whether the row is about a file of its directory.
func (r *row) leadsTo(file string, name fileName) bool {
	if named := r.text("sessionFile"); named != "" {
		return path.Base(strings.ReplaceAll(named, `\`, "/")) == file
	}
	return r.text("sessionId") == name.id && (name.topic == "" || name.topic == topicOf(r.key))
}

// transcripts names what was found. Those in use come first, so that a session
// has its id and an old file of it another.
func (l *listing) transcripts() []dialect.Transcript {
	slices.SortStableFunc(l.found, func(a, b found) int {
		return cmp.Or(b2i(a.Archived)-b2i(b.Archived), b2i(a.row == nil)-b2i(b.row == nil), strings.Compare(a.Parts[0], b.Parts[0]))
	})
	for i := range l.found {
		l.found[i].describe()
		l.found[i].ID = l.id(&l.found[i])
	}
	all := make([]dialect.Transcript, len(l.found))
	for i := range l.found {
		f := &l.found[i]
		if f.row != nil {
			f.Parent = l.keys[modern(f.row.text("spawnedBy"))]
		}
		all[i] = f.Transcript
	}
	return all
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// describe tells of a transcript what its row does.
func (f *found) describe() {
	f.Name = f.name.id
	if f.row == nil {
		return
	}
	f.Key, f.Title, f.Row = f.row.key, f.row.title(), f.row.raw
	f.Created, f.Updated = f.row.time("sessionStartedAt"), f.row.time("updatedAt")
	f.Archived = f.Archived || f.row.millis("archivedAt") > 0
	f.Sub = strings.Contains(f.Key, ":subagent:")
	if id := f.row.text("sessionId"); id != "" {
		f.Name = id
	}
}

// id is the session's own, or the next best name of the file that is free.
func (l *listing) id(f *found) firn.ID {
	whole := path.Base(f.Parts[0])
	for _, name := range []string{f.Name, strings.Replace(strings.TrimSuffix(whole, ".zst"), ext, "", 1)} {
		if id := firn.ID(name); id.Check() == nil && !l.ids[strings.ToLower(name)] {
			return l.take(f, id)
		}
	}
	return l.take(f, firn.ID(dialect.UUID("openclaw", f.Parts[0])))
}

func (l *listing) take(f *found, id firn.ID) firn.ID {
	l.ids[strings.ToLower(string(id))] = true
	if f.row != nil {
		l.keys[modern(f.row.key)] = id
	}
	return id
}

// Place names the file after the session, and after the thread that its key
// names.
func (layout) Place(home fs.FS, to dialect.Target) (string, error) {
	dir := path.Join("agents", agentName(to.Agent), "sessions")
	taken, err := fs.ReadDir(home, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("finding a place for session %s of OpenClaw: %w", to.Session, err)
	}
	id := idFor(to)
	for n := 1; ; n++ {
		stem := id
		if n > 1 {
			stem += "-" + strconv.Itoa(n)
		}
		if topic := topicOf(to.Key); topic != "" && len(topic) <= 64 {
			stem += topicMark + topic
		}
		if !slices.ContainsFunc(taken, func(e fs.DirEntry) bool {
			return len(e.Name()) >= len(stem+ext) && strings.EqualFold(e.Name()[:len(stem+ext)], stem+ext)
		}) {
			return path.Join(dir, stem+ext), nil
		}
	}
}

// idFor is the id that OpenClaw knows a session by: firn's, unless a file of
// that name would be taken for something else.
func idFor(to dialect.Target) string {
	id := string(to.Session)
	if name, ok := parseName(id + ext); !ok || name != (fileName{id: id}) || to.Session.Check() != nil {
		return dialect.UUID("openclaw", id)
	}
	return id
}

// Part reports that OpenClaw knows only one file to a session.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// NameOf is the id in the name of a file.
func (layout) NameOf(file string) string {
	name, _ := parseName(path.Base(file))
	return name.id
}

// Resume runs one more turn in the session. It takes the id and not the key: a
// key whose session is older than the last reset would begin a new one.
func (layout) Resume(file string, to dialect.Target) []string {
	id := idFor(to)
	if name, ok := parseName(path.Base(file)); ok {
		id = name.id
	}
	return []string{"openclaw", "agent", "--local", "--session-id", id, "--message", "Go on."}
}

// Keeps tells how long sessions are kept. Only releases with a database clear
// away by default; the ones before them do if told to.
func (layout) Keeps(home fs.FS) time.Duration {
	mode, after := "warn", "30d"
	if found, _ := fs.Glob(home, "agents/*/agent/openclaw-agent.sqlite"); len(found) > 0 {
		mode = "enforce"
	}
	var settings struct {
		Session struct {
			Maintenance struct {
				Mode       string
				PruneAfter json.RawMessage
				PruneDays  int
			}
		}
	}
	for _, name := range configs {
		if data, err := fs.ReadFile(home, name); err == nil && json.Unmarshal(data, &settings) == nil {
			break
		}
	}
	set := settings.Session.Maintenance
	mode = cmp.Or(set.Mode, mode)
	if s := strings.Trim(string(set.PruneAfter), `"`); s != "" && s != "null" {
		after = s
	} else if set.PruneDays > 0 {
		after = strconv.Itoa(set.PruneDays) + "d"
	}
	if mode != "enforce" {
		return 0
	}
	return duration(after)
}

// duration reads a time span as the settings write it: 30d, 12h, 90m, or a
// number of days.
func duration(s string) time.Duration {
	unit := 24 * time.Hour
	for suffix, is := range map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if number, ok := strings.CutSuffix(s, suffix); ok && !strings.ContainsAny(number, "ms") {
			s, unit = number, is
			break
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 || n*float64(unit) > float64(1<<62) {
		return 30 * 24 * time.Hour
	}
	return time.Duration(n * float64(unit))
}
