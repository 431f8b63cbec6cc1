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
	"firn.dev/internal/formats/dialect"
)

// layout is where claw0 keeps its files: below .sessions in its workspace. The
// first version has one index and a folder of transcripts, the current one an
// index and a folder for each agent.
type layout struct{ options Options }

const (
	hidden    = ".sessions"
	indexName = "sessions.json"
	extension = ".jsonl"
	// sniffed is how much of a transcript is read for its first line.
	sniffed = 4 << 10
)

// Homes is empty: claw0 keeps its sessions in its workspace, which can be
// anywhere.
func (layout) Homes() []string { return nil }

// Beside names the indexes of both versions, wherever in the home they lie.
func (layout) Beside() []string {
	var names []string
	for _, base := range []string{"", hidden, path.Join("workspace", hidden)} {
		names = append(names, path.Join(base, indexName), path.Join(base, "agents", "*", indexName))
	}
	return names
}

// Owns reports whether the directory is a workspace of claw0, or the folder in
// it that has the sessions.
func (layout) Owns(home fs.FS) bool {
	base := baseOf(home)
	return isDir(home, path.Join(base, "transcripts")) && (base != "." || exists(home, indexName)) ||
		base != "." && exists(home, path.Join(base, indexName)) || len(agents(home, base)) > 0
}

// baseOf finds the folder that has the sessions. Where there is none, it is to
// be made in the workspace, unless the home is that folder itself.
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

// agents lists the agents of the current version: folders of sessions with the
// index beside them. OpenClaw has its index within.
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

// Transcripts yields the sessions of both versions. The ones that the index has
// forgotten are among them.
func (layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		taken := make(map[firn.ID]bool)
		base := baseOf(home)
		for _, t := range firstOnes(home, base) {
			t.ID = sessionID(t, taken)
			if !yield(t, nil) {
				return
			}
		}
		for _, agent := range agents(home, base) {
			for _, t := range currentOnes(home, base, agent) {
				t.ID = sessionID(t, taken)
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// sessionID is what firn calls a session: by claw0's id, unless that cannot be.
func sessionID(t dialect.Transcript, taken map[firn.ID]bool) firn.ID {
	id := t.ID
	for n := 1; id.Check() != nil || taken[id]; n++ {
		id = firn.ID(dialect.UUID(string(dialect.Claw0), fmt.Sprintf("%s/%d", t.Parts[0], n)))
	}
	taken[id] = true
	return id
}

// firstOnes lists the sessions of the first version.
func firstOnes(home fs.FS, base string) (all []dialect.Transcript) {
	index, _ := readIndex(home, path.Join(base, indexName))
	for _, name := range transcripts(home, base) {
		t := dialect.Transcript{Name: strings.TrimSuffix(path.Base(name), extension), Parts: []string{name}}
		key := ""
		if i := index.ofFile(path.Base(name)); i >= 0 {
			row := index.rows[i]
			t.ID, key = firn.ID(row.text("session_id")), orElse(row.text("session_key"), row.name)
			t.Created, _ = parseTime(row.text("created_at"))
			t.Updated, _ = parseTime(row.text("updated_at"))
			t.Row = json.RawMessage(keep(row.value))
		} else if head, ok := sniff(home, name); ok {
			key, t.Created = head.key, head.time
		}
		if t.ID == "" {
			t.ID = firn.ID(idOf(home, name))
		}
		t.Name = orElse(key, t.Name)
		t.Agent, t.Key = ourKey(key)
		all = append(all, t)
	}
	// Those that the index knows have the first claim to their ids.
	slices.SortStableFunc(all, func(a, b dialect.Transcript) int {
		return cmp.Compare(min(len(b.Row), 1), min(len(a.Row), 1))
	})
	return all
}

// currentOnes lists the sessions of an agent of the current version.
func currentOnes(home fs.FS, base, agent string) (all []dialect.Transcript) {
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
			t.Row = json.RawMessage(keep(row.value))
		}
		all = append(all, t)
	}
	return all
}

// idOf is the id that a transcript of the first version has in its name.
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

// Part says that a transcript is one file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Resume starts claw0. Its first version then wants to be told the key (the
// command /switch), the current one takes up the session that was used last.
func (layout) Resume(name string, _ dialect.Target) []string {
	if isCurrent(name) {
		return []string{"python", "sessions/en/s03_sessions.py"}
	}
	return []string{"python", "agents/s03_sessions.py"}
}

// isCurrent reports whether a transcript is of the current version, by its path.
func isCurrent(name string) bool { return path.Base(path.Dir(name)) == "sessions" }

// Keeps says that claw0 deletes nothing by itself.
func (layout) Keeps(fs.FS) time.Duration { return 0 }
