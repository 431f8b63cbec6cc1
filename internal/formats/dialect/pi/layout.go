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

// ext is the extension of transcripts. folder contains them, in a folder per working
// directory.
const (
	ext    = ".jsonl"
	folder = "sessions"
)

// layout is pi's file layout. pi has no index.
type layout struct{}

// Homes returns .pi/agent.
func (layout) Homes() []string { return []string{".pi/agent"} }

// SideFiles is empty: pi stores no other session metadata.
func (layout) SideFiles() []string { return nil }

// Owns reports whether there are session folders with pi's naming scheme, or an empty
// session folder next to pi's settings.
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

// isProject reports whether a folder has pi's naming scheme.
func isProject(name string) bool {
	return len(name) >= 4 && strings.HasPrefix(name, "--") && strings.HasSuffix(name, "--")
}

func exists(home fs.FS, name string) bool {
	_, err := fs.Stat(home, name)
	return err == nil
}

// Transcripts yields the files in the sessions folder and those that pi 0.30 left next to
// it, if they are named like a session. The ID is the one in the name.
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
				err = fmt.Errorf("find sessions of pi in %s: %w", name, err)
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
		_ = fs.WalkDir(home, folder, visit) // it returns only errors of visit
	}
}

// transcript describes a file by its name. If the ID is invalid or used by an earlier file,
// one is derived from the path.
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

// stampForm is the time format in file names.
const stampForm = "2006-01-02T15-04-05.000Z"

// idOf returns the session ID in a file name.
func idOf(stem string) string {
	if stamp, id, ok := strings.Cut(stem, "_"); ok && !parseStamp(stamp).IsZero() {
		return id
	}
	return stem
}

// createdOf returns the creation time in a file name.
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

// Place returns a path with pi's naming scheme.
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

// project returns the folder name for sessions of a working directory.
func project(cwd string) string {
	const longest = 200 // limited by file systems
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

// Part returns false: a session is one file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Index returns nothing: pi has no index.
func (layout) Index(fs.FS, string, dialect.Target) ([]dialect.File, error) { return nil, nil }

// NameOf returns the ID in a file name.
func (layout) NameOf(file string) string { return idOf(strings.TrimSuffix(path.Base(file), ext)) }

// Resume returns the command that opens the file in pi.
func (layout) Resume(path string, _ dialect.Target) []string {
	return []string{"pi", "--session", path}
}

// Retention returns 0: pi deletes no sessions.
func (layout) Retention(fs.FS) time.Duration { return 0 }
