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

// layout is OpenClaw's file layout:
//
//	agents/<agent>/sessions/sessions.json
//	agents/<agent>/sessions/<session>.jsonl
//	agents/<agent>/sessions/<session>-topic-<thread>.jsonl
//	agents/<agent>/sessions/<session>.jsonl.reset.<time>, .deleted.<time>, .bak.<time>
//
// In the oldest homes sessions/ is at the top level.
type layout struct{}

// Homes returns the current and the former folder names, the current one first.
func (layout) Homes() []string { return []string{".openclaw", ".clawdbot", ".clawdia"} }

// SideFiles returns the patterns of session tables.
func (layout) SideFiles() []string {
	return []string{path.Join("agents", "*", "sessions", tableName), path.Join("sessions", tableName)}
}

// configs are the names of the settings files, the newest first.
var configs = []string{"openclaw.json", "clawdbot.json", "clawdia.json"}

// Owns reports whether there are OpenClaw's settings next to agents or sessions, or agents
// with files that only OpenClaw has. Agents with sessions are not enough: firn's own home
// has them, too.
func (layout) Owns(home fs.FS) bool {
	for _, name := range configs {
		if isFile(home, name) {
			return true
		}
	}
	for _, name := range []string{"config.toml", "commit", "config.yaml", "state.db"} { // of CrabTalk, firn and Hermes Agent
		if exists(home, name) {
			return false
		}
	}
	for _, dir := range sessionDirs(home) {
		if isFile(home, path.Join(dir, tableName)) && !isFirnDir(home, dir) {
			return true
		}
	}
	return false
}

// isFirnDir reports whether the first transcript of a directory was written by firn, which
// uses the same layout.
func isFirnDir(home fs.FS, dir string) bool {
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
		defer f.Close() // read only
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

// sessionDirs lists the directories with transcripts.
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

// agentOf returns the agent that owns a session directory.
func agentOf(dir string) string {
	if dir == "sessions" {
		return mainAgent
	}
	return path.Base(path.Dir(dir))
}

// Transcripts yields the files, each with its row of the table. An invalid table is
// ignored.
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

// listing collects the transcripts of a home.
type listing struct {
	found []found
	ids   map[string]bool
	keys  map[string]firn.ID
}

// found is a transcript with its row.
type found struct {
	dialect.Transcript
	name fileName
	row  *row
}

// read lists one directory.
func (l *listing) read(home fs.FS, dir string) error {
	entries, err := fs.ReadDir(home, dir)
	rows, tableErr := readTable(home, dir)
	if tableErr != nil {
		rows = nil // the files are authoritative
	}
	for _, entry := range entries {
		name, ok := parseName(entry.Name())
		if entry.IsDir() || !ok {
			continue
		}
		f := found{name: name, row: rows.rowOf(entry.Name(), name)}
		f.Parts, f.Agent = []string{path.Join(dir, entry.Name())}, agentOf(dir)
		f.Archived, f.Compressed = name.reason != "", name.packed
		l.found = append(l.found, f)
	}
	if err != nil {
		return fmt.Errorf("find sessions of OpenClaw in %s: %w", dir, err)
	}
	return nil
}

// rowOf finds the row that leads to a file, the most recently used one if there are
// several. Archived files have none.
func (t table) rowOf(file string, name fileName) *row {
	if name.reason != "" {
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

// leadsTo reports whether the row leads to a file in its directory.
func (r *row) leadsTo(file string, name fileName) bool {
	if named := r.text("sessionFile"); named != "" {
		return path.Base(strings.ReplaceAll(named, `\`, "/")) == file
	}
	return r.text("sessionId") == name.id && (name.topic == "" || name.topic == topicOf(r.key))
}

// transcripts assigns IDs and returns the transcripts. Current files are first, so that
// they get the session's own ID and older files of the session another.
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
			f.Parent = l.keys[normalizeKey(f.row.text("spawnedBy"))]
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

// describe fills in the metadata from the row.
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

// id returns the session's own ID, or the next best unused name of the file.
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
		l.keys[normalizeKey(f.row.key)] = id
	}
	return id
}

// importedDir is where releases with a database put transcripts that they have imported, as
// <key>.<file>.imported-<time>. The database has sessions of these names.
const importedDir = "session-sqlite-import-archive"

// Place returns a path named after the session and the thread in its key.
func (layout) Place(home fs.FS, to dialect.Target) (string, error) {
	agent := agentFor(home, to)
	dir := path.Join("agents", agent, "sessions")
	taken, err := fs.ReadDir(home, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("finding a place for session %s of OpenClaw: %w", to.Session, err)
	}
	imported, err := fs.ReadDir(home, path.Join("agents", agent, importedDir))
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
		file := strings.ToLower(stem + ext)
		if !slices.ContainsFunc(taken, func(e fs.DirEntry) bool { return strings.HasPrefix(strings.ToLower(e.Name()), file) }) &&
			!slices.ContainsFunc(imported, func(e fs.DirEntry) bool { return strings.Contains("."+strings.ToLower(e.Name()), "."+file) }) {
			return path.Join(dir, stem+ext), nil
		}
	}
}

// agentFor returns the agent that a session is written for. OpenClaw does not find sessions of
// agents that are not in its settings: handed to it, they are sessions of its default agent.
func agentFor(home fs.FS, to dialect.Target) string {
	name := agentName(to.Agent)
	if to.As == "" || name == mainAgent || hasAgent(home, name) {
		return name
	}
	return mainAgent
}

// hasAgent reports whether an agent is in the settings; if they cannot be read, whether it has a
// directory.
func hasAgent(home fs.FS, name string) bool {
	var settings struct {
		Agents struct{ List []struct{ ID string } }
	}
	for _, file := range configs {
		data, err := fs.ReadFile(home, file)
		if err != nil {
			continue
		}
		if json.Unmarshal(data, &settings) != nil { // such as JSON5
			return exists(home, path.Join("agents", name))
		}
		return slices.ContainsFunc(settings.Agents.List, func(a struct{ ID string }) bool { return agentName(a.ID) == name })
	}
	return false
}

// idFor returns OpenClaw's ID of a session: firn's, unless a file of that name would be
// misinterpreted.
func idFor(to dialect.Target) string {
	id := string(to.Session)
	if name, ok := parseName(id + ext); !ok || name != (fileName{id: id}) || to.Session.Check() != nil {
		return dialect.UUID("openclaw", id)
	}
	return id
}

// Part returns false: a session is one file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// NameOf returns the ID in a file name.
func (layout) NameOf(file string) string {
	name, _ := parseName(path.Base(file))
	return name.id
}

// Resume returns a command that runs one more turn in the session. It uses the ID instead
// of the key: a key whose session is older than the last reset would start a new one.
func (layout) Resume(file string, to dialect.Target) []string {
	id := idFor(to)
	if name, ok := parseName(path.Base(file)); ok {
		id = name.id
	}
	return []string{"openclaw", "agent", "--local", "--session-id", id, "--message", "Go on."}
}

// Retention returns how long sessions are kept. Only releases with a database delete sessions
// by default; earlier releases do so if configured.
func (layout) Retention(home fs.FS) time.Duration {
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

// duration parses a duration as in the settings: 30d, 12h, 90m, or a number of days.
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
