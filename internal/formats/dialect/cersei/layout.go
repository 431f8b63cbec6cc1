package cersei

import (
	"fmt"
	"io"
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

// layout is Cersei's file layout: in Claude Code's folder by project, or as bare messages
// in any folder. Only the contents of a file identify its tool.
type layout struct{ options Options }

const (
	projects  = "projects"
	extension = ".jsonl"
	// partLimit is Cersei's limit for the size of a file.
	partLimit = 50_000_000
	// sniffed is the number of bytes read to identify a file; maxSniffs limits the number
	// of files read to identify a folder.
	sniffed   = 4 << 10
	maxSniffs = 1000
)

// Homes returns Claude Code's folder, which Cersei shares.
func (layout) Homes() []string { return []string{".claude"} }

// SideFiles is empty: Cersei stores no other session metadata.
func (layout) SideFiles() []string { return nil }

// Owns reports whether there is a transcript of Cersei in the folder. A folder with only
// Claude Code's transcripts is not Cersei's.
func (l layout) Owns(home fs.FS) bool {
	tries := 0
	for _, dir := range folders(home) {
		for _, s := range sessionsIn(home, dir) {
			if tries++; tries > maxSniffs {
				return false
			}
			if _, ok := sniff(home, s.parts[0]); ok {
				return true
			}
		}
	}
	return false
}

// Transcripts yields the sessions of all projects.
func (l layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		taken := make(map[firn.ID]bool)
		for _, dir := range folders(home) {
			for _, s := range sessionsIn(home, dir) {
				head, ok := sniff(home, s.parts[0])
				if !ok {
					continue
				}
				t := dialect.Transcript{ID: sessionName(dir, s.name, taken), Name: s.name, Parts: s.parts, CWD: head.cwd}
				if !yield(t, s.fault) {
					return
				}
			}
		}
	}
}

// sessionName returns firn's ID of a session: its file name, unless another project has a
// session of that name.
func sessionName(dir, name string, taken map[firn.ID]bool) firn.ID {
	id := firn.ID(name)
	for n := 1; id.Check() != nil || taken[id]; n++ {
		id = firn.ID(dialect.UUID(string(dialect.Cersei), fmt.Sprintf("%s/%s/%d", dir, name, n)))
	}
	taken[id] = true
	return id
}

// folders lists the folders that can contain transcripts: the home itself and its
// subfolders, or its projects. Those without Claude Code's naming scheme are first.
func folders(home fs.FS) []string {
	root := "."
	if info, err := fs.Stat(home, projects); err == nil && info.IsDir() {
		root = projects
	}
	entries, _ := fs.ReadDir(home, root)
	var own, shared []string
	for _, e := range entries {
		switch dir := path.Join(root, e.Name()); {
		case !e.IsDir() || e.Name() == "memory":
		case strings.HasPrefix(e.Name(), "-"):
			shared = append(shared, dir)
		default:
			own = append(own, dir)
		}
	}
	return append(append([]string{root}, own...), shared...)
}

// session is the files of one session.
type session struct {
	name  string
	parts []string
	// fault is the error for a part that cannot be interpreted.
	fault error
}

// sessionsIn lists the sessions of one folder. Parts are numbered without gaps; the first
// may be missing. A part after a gap is returned with a fault, because Cersei would never
// read it.
func sessionsIn(home fs.FS, dir string) []session {
	entries, _ := fs.ReadDir(home, dir)
	files := make(map[string]map[int]bool)
	var names []string
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), extension)
		if !ok || e.IsDir() || stem == "" {
			continue
		}
		name, part := splitPart(stem)
		if files[name] == nil {
			files[name] = make(map[int]bool)
			names = append(names, name)
		}
		files[name][part] = true
	}
	slices.Sort(names)
	var all []session
	for _, name := range names {
		all = append(all, partsOf(dir, name, files[name])...)
	}
	return all
}

func partsOf(dir, name string, there map[int]bool) (all []session) {
	whole := session{name: name}
	next := 1
	if !there[1] {
		next = 2
	}
	for ; there[next]; next++ {
		whole.parts = append(whole.parts, partPath(dir, name, next))
		delete(there, next)
	}
	if len(whole.parts) > 0 {
		all = append(all, whole)
	}
	for _, n := range sorted(there) {
		lone := partPath(dir, name, n)
		all = append(all, session{name: path.Base(strings.TrimSuffix(lone, extension)), parts: []string{lone}, fault: fmt.Errorf("finding the parts of session %s: %w: %s is there, but not part %d before it", name, firn.ErrCorrupt, lone, n-1)})
	}
	return all
}

func sorted(numbers map[int]bool) []int {
	var list []int
	for n := range numbers {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// splitPart splits the stem of a file into the session and the number of the part.
func splitPart(stem string) (name string, part int) {
	i := strings.LastIndex(stem, "_part")
	if i <= 0 {
		return stem, 1
	}
	digits := stem[i+len("_part"):]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 2 || strconv.Itoa(n) != digits {
		return stem, 1
	}
	return stem[:i], n
}

func partPath(dir, name string, part int) string {
	if part > 1 {
		name += "_part" + strconv.Itoa(part)
	}
	return path.Join(dir, name+extension)
}

// sniff reads the first line of a file and reports whether Cersei wrote it.
func sniff(home fs.FS, name string) (head line, ok bool) {
	f, err := home.Open(name)
	if err != nil {
		return head, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, sniffed))
	if err != nil {
		return head, false
	}
	if tool, err := dialect.Detect(data); err != nil || tool != dialect.Cersei {
		return head, false
	}
	first, _, _ := strings.Cut(string(data), "\n")
	head, _ = readLine([]byte(first)) // a long line is truncated, so an error is expected
	return head, true
}

// Part returns the next part if a file would become too large. A line that exceeds the
// limit gets a part of its own.
func (layout) Part(name string, size, more int64) (string, bool) {
	if size == 0 || size+more <= partLimit {
		return "", false
	}
	session, part := splitPart(strings.TrimSuffix(path.Base(name), extension))
	return partPath(path.Dir(name), session, part+1), true
}

// Index returns nothing: Cersei has no index.
func (layout) Index(fs.FS, string, dialect.Target) ([]dialect.File, error) { return nil, nil }

// Resume returns the command that resumes a session.
func (l layout) Resume(name string, _ dialect.Target) []string {
	session, _ := splitPart(strings.TrimSuffix(path.Base(name), extension))
	if l.options.ForClaude {
		return []string{"claude", "--resume", session}
	}
	return []string{"abstract", "--resume", session}
}

// Retention returns 0: Cersei deletes no sessions.
func (layout) Retention(fs.FS) time.Duration { return 0 }
