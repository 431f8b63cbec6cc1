package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

// Target is the object of an examination: a home, one of its sessions, or files.
type Target struct {
	// Root is the home, or the path that was named.
	Root string
	// Home is set if Root is a home.
	Home bool
	// Whole is set if the target is the whole home.
	Whole bool
	// MaxLine is the maximum length of a line in bytes; zero means the default.
	MaxLine int64

	fs          vfs.FS
	transcripts []transcript
	mirrors     []mirrored
	// troubles are directories that could not be read.
	troubles []Finding
}

// transcript is a session as found in a directory listing.
type transcript struct {
	session firn.ID
	agent   string // empty outside a home
	base    string // the path of the first part, which may be missing
	named   bool   // the file name is the session ID
	binned  bool   // in the trash bin
	// names are all files of the transcript in the directory, sorted.
	names []string
}

// Ambiguous is the error for a prefix that matches several sessions.
type Ambiguous struct {
	Prefix   string
	Sessions []firn.ID
}

// Error lists the first few sessions.
func (a *Ambiguous) Error() string {
	shown := a.Sessions
	more := ""
	if len(shown) > 3 {
		shown, more = shown[:3], fmt.Sprintf(" and %d more", len(a.Sessions)-3)
	}
	return fmt.Sprintf("%s matches %d sessions: %s%s", a.Prefix, len(a.Sessions), joinIDs(shown), more)
}

func joinIDs(ids []firn.ID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	return strings.Join(words, ", ")
}

// OpenHome returns a target for a whole home, or ErrNotFound. A nil file system is that of
// the operating system.
func OpenHome(fsys vfs.FS, home string) (Target, error) {
	if fsys == nil {
		fsys = sealfs.Home(home)
	}
	info, err := fsys.Stat(home)
	if errors.Is(err, fs.ErrNotExist) {
		return Target{}, fmt.Errorf("open home %s: %w", home, firn.ErrNotFound)
	}
	if err == nil && !info.Mode.IsDir() {
		return Target{}, fmt.Errorf("open home %s: directory %w; it is a file", home, firn.ErrNotFound)
	}
	if err != nil {
		return Target{}, fmt.Errorf("open home %s: %w", home, err)
	}
	t := Target{Root: home, Home: true, Whole: true, fs: fsys}
	t.listHome()
	t.listMirrors()
	return t, nil
}

// minPrefix is the minimum length of a session ID prefix.
const minPrefix = 4

// Find returns the target for a name: a session of the home, by its ID or a prefix of it,
// or else a file or a directory. A nil file system is that of the operating system.
func Find(fsys vfs.FS, home, name string) (Target, error) {
	if fsys == nil {
		fsys = sealfs.Home(home)
	}
	if name == "" {
		return Target{}, fmt.Errorf("%w session: empty name", firn.ErrInvalid)
	}
	if !isPath(name) {
		t, err := findSession(fsys, home, name)
		if !errors.Is(err, firn.ErrNotFound) {
			return t, err
		}
	}
	info, err := fsys.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isPath(name):
		return Target{}, fmt.Errorf("open %s: %w", name, firn.ErrNotFound)
	case errors.Is(err, fs.ErrNotExist):
		return Target{}, fmt.Errorf("session %s in %s: %w", name, home, firn.ErrNotFound)
	case err != nil:
		return Target{}, fmt.Errorf("open %s: %w", name, err)
	case info.Mode.IsDir():
		return openDir(fsys, name)
	case !info.Mode.IsRegular():
		return Target{}, fmt.Errorf("open %s: %w: neither a file nor a directory", name, firn.ErrInvalid)
	}
	return openFile(fsys, name)
}

// isPath reports whether a name cannot be a session ID.
func isPath(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, transcriptExt) || name == "." || name == ".."
}

// findSession finds a session of the home.
func findSession(fsys vfs.FS, home, name string) (Target, error) {
	all, err := OpenHome(fsys, home)
	if err != nil {
		return Target{}, err
	}
	means := func(id firn.ID) bool {
		return string(id) == name || len(name) >= minPrefix && strings.HasPrefix(string(id), name)
	}
	exact := make(map[firn.ID]bool)
	var ids []firn.ID
	var found []transcript
	for _, t := range all.transcripts {
		if string(t.session) == name {
			exact[t.session] = true
		}
		if means(t.session) {
			found = append(found, t)
			if !slices.Contains(ids, t.session) {
				ids = append(ids, t.session)
			}
		}
	}
	if len(exact) > 0 {
		found = slices.DeleteFunc(found, func(t transcript) bool { return string(t.session) != name })
	} else if len(ids) > 1 {
		return Target{}, &Ambiguous{Prefix: name, Sessions: ids}
	}
	if len(found) == 0 {
		return findMirrored(all, means, name)
	}
	return Target{Root: home, Home: true, fs: fsys, transcripts: found, troubles: all.troubles}, nil
}

// openDir returns a target for a directory: a home, or all transcripts below it.
func openDir(fsys vfs.FS, dir string) (Target, error) {
	if info, err := fsys.Stat(filepath.Join(dir, "agents")); err == nil && info.Mode.IsDir() {
		return OpenHome(fsys, dir)
	}
	t := Target{Root: dir, fs: fsys}
	err := walk(fsys, dir, func(path string, mode fs.FileMode) error {
		if !mode.IsDir() {
			return nil
		}
		more, err := dirTranscripts(fsys, path)
		t.transcripts = append(t.transcripts, more...)
		return err
	})
	if err == nil && len(t.transcripts) == 0 {
		err = fmt.Errorf("open %s: no %s files in it: %w", dir, transcriptExt, firn.ErrNotFound)
	}
	return t, err
}

// openFile returns a target for the transcript that a file belongs to.
func openFile(fsys vfs.FS, path string) (Target, error) {
	base := journal.BasePath(path)
	all, err := dirTranscripts(fsys, filepath.Dir(base))
	if err != nil {
		return Target{}, err
	}
	if err := checkTranscript(fsys, path); err != nil {
		return Target{}, err
	}
	for _, t := range all {
		if filepath.Base(t.base) == filepath.Base(base) {
			t.base = base
			return Target{Root: path, fs: fsys, transcripts: []transcript{t}}, nil
		}
	}
	one := transcript{session: stemID(path), base: path, names: []string{filepath.Base(path)}}
	return Target{Root: path, fs: fsys, transcripts: []transcript{one}}, nil
}

// homes returns the homes of the transcripts. A file named by its path may belong to a
// session, and the commit logs of its home may contain data that the file lacks.
func (t *Target) homes() []string {
	if t.Home {
		return []string{t.Root}
	}
	var homes []string
	for _, one := range t.transcripts {
		if home, ok := homeOf(one.base); ok && !slices.Contains(homes, home) {
			homes = append(homes, home)
		}
	}
	return homes
}

// homeOf returns the home of a transcript, derived from its path:
// <home>/agents/<agent>/sessions/<id>.jsonl.
func homeOf(path string) (home string, ok bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	sessions := filepath.Dir(path)
	agents := filepath.Dir(filepath.Dir(sessions))
	return filepath.Dir(agents), filepath.Base(sessions) == "sessions" && filepath.Base(agents) == "agents"
}

const transcriptExt = ".jsonl"

// listHome lists the sessions of a home, including those in the trash bin. An unreadable
// directory is recorded as a trouble, and the others are still listed.
func (t *Target) listHome() {
	for _, agent := range t.dirNames(filepath.Join(t.Root, "agents")) {
		t.list(filepath.Join(t.Root, "agents", agent, "sessions"), agent, false)
	}
	for _, id := range t.dirNames(filepath.Join(t.Root, "bin")) {
		t.list(filepath.Join(t.Root, "bin", id), "", true)
	}
}

// list adds the transcripts of a directory of the home.
func (t *Target) list(dir, agent string, binned bool) {
	found, err := dirTranscripts(t.fs, dir)
	if err != nil {
		t.addTrouble(dir, err)
	}
	for _, one := range found {
		one.agent, one.named, one.binned = agent, true, binned
		t.transcripts = append(t.transcripts, one)
	}
}

func (t *Target) addTrouble(path string, err error) {
	t.troubles = append(t.troubles, unreadable(relative(t.Root, path), "", err))
}

// dirNames returns the names of the subdirectories of a directory. It may be missing.
func (t *Target) dirNames(dir string) []string {
	entries, err := t.fs.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.addTrouble(dir, err)
		}
		return nil
	}
	var names []string
	for _, e := range entries {
		info, err := t.fs.Stat(filepath.Join(dir, e.Name()))
		switch {
		case err == nil && info.Mode.IsDir():
			names = append(names, e.Name())
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			t.addTrouble(filepath.Join(dir, e.Name()), err)
		}
	}
	return names
}

// dirTranscripts lists the transcripts of a directory with their files. A missing directory
// has none.
func dirTranscripts(fsys vfs.FS, dir string) ([]transcript, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find transcripts in %s: %w", dir, err)
	}
	byBase := make(map[string]int)
	var found []transcript
	for _, e := range entries {
		base, ok := baseName(e.Name())
		if !ok {
			continue
		}
		n, known := byBase[base]
		if !known {
			n = len(found)
			byBase[base] = n
			found = append(found, transcript{session: stemID(base), base: filepath.Join(dir, base)})
		}
		found[n].names = append(found[n].names, e.Name())
	}
	// Files saved next to a removed transcript are not a transcript.
	return slices.DeleteFunc(found, func(t transcript) bool { return !slices.ContainsFunc(t.names, isPart) }), nil
}

// baseName returns the name of the first part of the transcript that a file belongs to, as
// a part or as a side file.
func baseName(name string) (string, bool) {
	if part, _, ok := cutSide(name); ok {
		name = part
	}
	if !isPart(name) {
		return "", false
	}
	return journal.BasePath(name), true
}

func isPart(name string) bool {
	return strings.HasSuffix(name, transcriptExt) && name != transcriptExt && name[0] != '.'
}

// cutSide splits the name of a side file.
func cutSide(name string) (part, what string, ok bool) {
	part, ok = journal.SideFile(name)
	if !ok || !isPart(part) {
		return "", "", false
	}
	what, _, _ = strings.Cut(name[len(part)+1:], "-")
	return part, what, true
}

// stemID returns the session ID in the name of a transcript.
func stemID(path string) firn.ID {
	return firn.ID(strings.TrimSuffix(filepath.Base(path), transcriptExt))
}

// walk visits a directory and everything below it, parents first. It does not follow links.
func walk(fsys vfs.FS, dir string, visit func(path string, mode fs.FileMode) error) error {
	if err := visit(dir, fs.ModeDir); err != nil {
		return err
	}
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", dir, err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = walk(fsys, path, visit)
		} else {
			err = visit(path, e.Type())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
