package claw0

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// layout is claw0's file layout, below .sessions in its workspace. The first version has
// one index and a folder of transcripts, the current one an index and a folder per agent.
type layout struct{ options Options }

const (
	hidden    = ".sessions"
	indexName = "sessions.json"
	extension = ".jsonl"
	// sniffed is the number of bytes read for the first line of a transcript.
	sniffed = 4 << 10
)

// Homes is empty: claw0's workspace can be anywhere.
func (layout) Homes() []string { return nil }

// SideFiles returns the patterns of the indexes of both versions.
func (layout) SideFiles() []string {
	var names []string
	for _, base := range []string{"", hidden, path.Join("workspace", hidden)} {
		names = append(names, path.Join(base, indexName), path.Join(base, "agents", "*", indexName))
	}
	return names
}

// Owns reports whether the directory is a claw0 workspace or its sessions folder.
func (layout) Owns(home fs.FS) bool {
	base := baseOf(home)
	return isDir(home, path.Join(base, "transcripts")) && (base != "." || exists(home, indexName)) ||
		base != "." && exists(home, path.Join(base, indexName)) || len(agents(home, base)) > 0
}

// baseOf returns the sessions folder. If it does not exist, it is the one to create in the
// workspace, unless the home is that folder itself.
func baseOf(home fs.FS) string {
	for _, dir := range []string{hidden, path.Join("workspace", hidden)} {
		if isDir(home, dir) {
			return dir
		}
	}
	if isDir(home, "transcripts") || len(agents(home, ".")) > 0 {
		return "."
	}
	return hidden
}

// agents lists the agents of the current version: session folders with an index next to
// them. OpenClaw has its index inside.
func agents(home fs.FS, base string) (names []string) {
	entries, _ := fs.ReadDir(home, path.Join(base, "agents"))
	for _, e := range entries {
		dir := path.Join(base, "agents", e.Name())
		if e.IsDir() && (exists(home, path.Join(dir, indexName)) || base != "." && isDir(home, path.Join(dir, "sessions"))) {
			names = append(names, e.Name())
		}
	}
	return names
}

// transcripts lists the files of the first version.
func transcripts(home fs.FS, base string) []string {
	return files(home, path.Join(base, "transcripts"))
}

// files lists the transcripts in a folder.
func files(home fs.FS, dir string) (names []string) {
	entries, _ := fs.ReadDir(home, dir)
	for _, e := range entries {
		if !e.IsDir() && path.Ext(e.Name()) == extension && e.Name() != extension {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names
}

func isDir(home fs.FS, name string) bool {
	info, err := fs.Stat(home, name)
	return err == nil && info.IsDir()
}

func exists(home fs.FS, name string) bool {
	info, err := fs.Stat(home, name)
	return err == nil && !info.IsDir()
}

// Transcripts yields the sessions of both versions, including those missing from the index.
func (layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		taken := make(map[firn.ID]bool)
		base := baseOf(home)
		for _, t := range listFirstVersion(home, base) {
			t.ID = sessionID(t, taken)
			if !yield(t, nil) {
				return
			}
		}
		for _, agent := range agents(home, base) {
			for _, t := range listCurrentVersion(home, base, agent) {
				t.ID = sessionID(t, taken)
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// sessionID returns firn's ID of a session: claw0's ID if it is valid and unused.
func sessionID(t dialect.Transcript, taken map[firn.ID]bool) firn.ID {
	id := t.ID
	for n := 1; id.Check() != nil || taken[id]; n++ {
		id = firn.ID(dialect.UUID(string(dialect.Claw0), fmt.Sprintf("%s/%d", t.Parts[0], n)))
	}
	taken[id] = true
	return id
}

// listFirstVersion lists the sessions of the first version.
func listFirstVersion(home fs.FS, base string) (all []dialect.Transcript) {
	index, _ := readIndex(home, path.Join(base, indexName))
	for _, name := range transcripts(home, base) {
		t := dialect.Transcript{Name: strings.TrimSuffix(path.Base(name), extension), Parts: []string{name}}
		key := ""
		if i := index.ofFile(path.Base(name)); i >= 0 {
			row := index.rows[i]
			t.ID, key = firn.ID(row.text("session_id")), orElse(row.text("session_key"), row.name)
			t.Created, _ = parseTime(row.text("created_at"))
			t.Updated, _ = parseTime(row.text("updated_at"))
			t.Row = json.RawMessage(rawjson.CleanLine(row.value))
		} else if head, ok := sniff(home, name); ok {
			key, t.Created = head.key, head.time
		}
		if t.ID == "" {
			t.ID = firn.ID(idOf(home, name))
		}
		t.Name = orElse(key, t.Name)
		t.Agent, t.Key = toFirnKey(key)
		all = append(all, t)
	}
	// Sessions in the index have priority for their IDs.
	slices.SortStableFunc(all, func(a, b dialect.Transcript) int {
		return cmp.Compare(min(len(b.Row), 1), min(len(a.Row), 1))
	})
	return all
}

// listCurrentVersion lists the sessions of an agent of the current version.
func listCurrentVersion(home fs.FS, base, agent string) (all []dialect.Transcript) {
	dir := path.Join(base, "agents", agent)
	index, _ := readIndex(home, path.Join(dir, indexName))
	for _, name := range files(home, path.Join(dir, "sessions")) {
		id := strings.TrimSuffix(path.Base(name), extension)
		t := dialect.Transcript{ID: firn.ID(id), Name: id, Parts: []string{name}, Agent: agent}
		if i := slices.IndexFunc(index.rows, func(r row) bool { return r.name == id }); i >= 0 {
			row := index.rows[i]
			t.Title = row.text("label")
			t.Created, _ = parseTime(row.text("created_at"))
			t.Updated, _ = parseTime(row.text("last_active"))
			t.Row = json.RawMessage(rawjson.CleanLine(row.value))
		}
		all = append(all, t)
	}
	return all
}

// idOf returns the ID in the file name of a first-version transcript.
func idOf(home fs.FS, name string) string {
	stem := strings.TrimSuffix(path.Base(name), extension)
	if head, ok := sniff(home, name); ok && head.id != "" && strings.HasSuffix(stem, "_"+head.id) {
		return head.id
	}
	return stem[strings.LastIndexByte(stem, '_')+1:]
}

// sniff reads the first line of a transcript.
func sniff(home fs.FS, name string) (line, bool) {
	f, err := home.Open(name)
	if err != nil {
		return line{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, sniffed))
	if err != nil {
		return line{}, false
	}
	first, _, _ := strings.Cut(string(data), "\n")
	l, err := readLine([]byte(first))
	return l, err == nil && l.kind == kindSession
}

// Part returns false: a transcript is one file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Resume returns the command that starts claw0. The first version then needs the key
// (command /switch); the current one resumes the session used last.
func (layout) Resume(name string, _ dialect.Target) []string {
	if isCurrent(name) {
		return []string{"python", "sessions/en/s03_sessions.py"}
	}
	return []string{"python", "agents/s03_sessions.py"}
}

// isCurrent reports whether a path is that of a current-version transcript.
func isCurrent(name string) bool { return path.Base(path.Dir(name)) == "sessions" }

// Retention returns 0: claw0 deletes no sessions.
func (layout) Retention(fs.FS) time.Duration { return 0 }
