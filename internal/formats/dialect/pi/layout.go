package pi

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"
	"unicode"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// ext ends the names of transcripts, and folder holds them: a directory for
// each directory that pi was started in.
const (
	ext    = ".jsonl"
	folder = "sessions"
)

// layout is where pi keeps its files. It keeps no index.
type layout struct{}

// Homes is below the user's home directory.
func (layout) Homes() []string { return []string{".pi/agent"} }

// Beside is empty: pi notes nothing about its sessions elsewhere.
func (layout) Beside() []string { return nil }

// Owns reports whether there are sessions in directories that only pi names so,
// or none yet beside pi's settings.
func (layout) Owns(home fs.FS) bool {
	dirs, err := fs.ReadDir(home, folder)
	if err != nil {
		return false
	}
	for _, d := range dirs {
		if d.IsDir() && isProject(d.Name()) {
			return true
		}
	}
	return len(dirs) == 0 && exists(home, "settings.json") && exists(home, "auth.json") && !exists(home, "config.toml")
}

// isProject reports whether a directory is named as pi does it.
func isProject(name string) bool {
	return len(name) >= 4 && strings.HasPrefix(name, "--") && strings.HasSuffix(name, "--")
}

func exists(home fs.FS, name string) bool {
	_, err := fs.Stat(home, name)
	return err == nil
}

// Transcripts yields the files below the folder of sessions, and those that pi
// 0.30 left beside it: of what lies there, only what is named as a session is one.
// The id is the one in the name.
func (layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		seen := make(map[string]bool)
		stray, _ := fs.Glob(home, "*"+ext)
		for _, name := range stray {
			if createdOf(strings.TrimSuffix(name, ext)).IsZero() {
				continue
			}
			if !yield(transcript(name, seen), nil) {
				return
			}
		}
		if !exists(home, folder) {
			return
		}
		visit := func(name string, d fs.DirEntry, err error) error {
			t := dialect.Transcript{Parts: []string{name}}
			switch {
			case err != nil:
				err = fmt.Errorf("looking for sessions of pi in %s: %w", name, err)
			case d.IsDir() || path.Ext(name) != ext:
				return nil
			default:
				t = transcript(name, seen)
			}
			if !yield(t, err) {
				return fs.SkipAll
			}
			return nil
		}
		_ = fs.WalkDir(home, folder, visit) // it fails only with what visit returns
	}
}

// transcript tells what a file's name does. An id that an earlier file has, or
// that cannot be one, is made from the path.
func transcript(name string, seen map[string]bool) dialect.Transcript {
	stem := strings.TrimSuffix(path.Base(name), ext)
	t := dialect.Transcript{Name: idOf(stem), Parts: []string{name}, Created: createdOf(stem)}
	t.ID = firn.ID(t.Name)
	if t.ID.Check() != nil || seen[strings.ToLower(string(t.ID))] {
		t.ID = firn.ID(dialect.UUID("pi", name))
	}
	seen[strings.ToLower(string(t.ID))] = true
	return t
}

// stampForm is how pi writes the time into a file's name.
const stampForm = "2006-01-02T15-04-05.000Z"

// idOf is the session's id in the name of its file.
func idOf(stem string) string {
	if stamp, id, ok := strings.Cut(stem, "_"); ok && !parseStamp(stamp).IsZero() {
		return id
	}
	return stem
}

// createdOf is when a session was begun, as its file's name tells.
func createdOf(stem string) time.Time {
	stamp, _, _ := strings.Cut(stem, "_")
	return parseStamp(stamp)
}

func parseStamp(stamp string) time.Time {
	i := strings.LastIndexByte(stamp, '-')
	if i < 0 || len(stamp) != len(stampForm) {
		return time.Time{}
	}
	t, err := time.Parse(stampForm, stamp[:i]+"."+stamp[i+1:])
	if err != nil {
		return time.Time{}
	}
	return t
}

// Place names the file as pi does.
func (layout) Place(home fs.FS, to dialect.Target) (string, error) {
	id := string(to.Session)
	if to.Session.Check() != nil {
		id = dialect.UUID("pi", id)
	}
	at := to.Created
	if at.IsZero() {
		at = to.Updated
	}
	if at = at.UTC(); at.Year() < 1970 || at.Year() > 9999 {
		at = time.UnixMilli(0).UTC()
	}
	stem := strings.Replace(at.Format(stampForm), ".", "-", 1) + "_" + id
	dir := folder + "/" + project(to.CWD)
	for n := 1; ; n++ {
		name := dir + "/" + stem + ext
		if n > 1 {
			name = fmt.Sprintf("%s/%s-%d%s", dir, stem, n, ext)
		}
		if _, err := fs.Stat(home, name); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("finding a place for session %s of pi: %w", to.Session, err)
		}
		return name, nil
	}
}

// project is the name of the directory for sessions that were begun in cwd.
func project(cwd string) string {
	const longest = 200 // of what file systems take
	if strings.HasPrefix(cwd, "/") || strings.HasPrefix(cwd, `\`) {
		cwd = cwd[1:]
	}
	name := strings.Map(func(c rune) rune {
		if c == '/' || c == '\\' || c == ':' || unicode.IsControl(c) {
			return '-'
		}
		return c
	}, strings.ToValidUTF8(cwd, "-"))
	if len(name) > longest {
		name = firn.CutText(name, longest) + "-" + dialect.UUID("pi", cwd)[:8]
	}
	return "--" + name + "--"
}

// Part reports that pi knows only one file to a session.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Index returns nothing: pi keeps none.
func (layout) Index(fs.FS, string, dialect.Target) ([]dialect.File, error) { return nil, nil }

// NameOf is the id in the name of a file.
func (layout) NameOf(file string) string { return idOf(strings.TrimSuffix(path.Base(file), ext)) }

// Resume opens the file in pi.
func (layout) Resume(path string, _ dialect.Target) []string {
	return []string{"pi", "--session", path}
}

// Keeps returns 0: pi deletes nothing by itself.
func (layout) Keeps(fs.FS) time.Duration { return 0 }
