package crabtalk

import (
	"errors"
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
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// layout is CrabTalk's file layout: a single folder, with files named by agent, sender and
// number.
type layout struct{}

const (
	folder = "sessions"
	ending = ".jsonl"
	// metaFile and stepPrefix name the files of a session that is a folder.
	metaFile   = "meta"
	stepPrefix = "step-"
	// stepsSuffix is appended to the IDs of such sessions, because files and folders are
	// numbered separately.
	stepsSuffix = ".steps"
)

// Homes returns .crabtalk.
func (layout) Homes() []string { return []string{".crabtalk"} }

// SideFiles is empty: CrabTalk stores all session metadata in the session files.
func (layout) SideFiles() []string { return nil }

// Owns reports whether there is a session with CrabTalk's naming scheme. If a name has no
// number, the first line of the file decides.
func (layout) Owns(home fs.FS) bool {
	entries, err := fs.ReadDir(home, folder)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		stem, isFile := strings.CutSuffix(entry.Name(), ending)
		n, ok := parseName(stem)
		if !ok || strings.HasPrefix(stem, ".") {
			continue
		}
		switch {
		case entry.IsDir():
			if _, err := fs.Stat(home, path.Join(folder, entry.Name(), metaFile)); err == nil {
				return true
			}
		case isFile && n.seq > 0 && strings.Trim(stem, "_0123456789") != "": // not the date and time of Hermes Agent
			return true
		case isFile:
			if first, err := firstLine(home, path.Join(folder, entry.Name())); err == nil && isMeta(first) {
				return true
			}
		}
	}
	return false
}

// Transcripts yields the sessions.
func (layout) Transcripts(home fs.FS) iter.Seq2[dialect.Transcript, error] {
	return func(yield func(dialect.Transcript, error) bool) {
		l := listing{home: home, yield: yield, taken: make(map[firn.ID]bool)}
		l.folder(folder, true)
	}
}

// listing is a walk over a home.
type listing struct {
	home  fs.FS
	yield func(dialect.Transcript, error) bool
	taken map[firn.ID]bool
}

// folder lists a folder and, if days is set, its subfolders named by a day, a scheme that
// CrabTalk once planned. It returns false if iteration was stopped.
func (l *listing) folder(dir string, days bool) bool {
	entries, err := fs.ReadDir(l.home, dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		return l.yield(dialect.Transcript{}, fmt.Errorf("list the sessions of CrabTalk in %s: %w", dir, err))
	}
	for _, entry := range entries {
		at := path.Join(dir, entry.Name())
		wanted := true
		switch {
		case strings.HasPrefix(entry.Name(), "."):
		case entry.IsDir() && days && isDay(entry.Name()):
			wanted = l.folder(at, false)
		case entry.IsDir():
			wanted = l.steps(at)
		case strings.HasSuffix(entry.Name(), ending):
			wanted = l.file(at)
		}
		if !wanted {
			return false
		}
	}
	return true
}

// isDay reports whether a folder is named by a day.
func isDay(name string) bool {
	_, err := time.Parse(time.DateOnly, name)
	return err == nil
}

// file lists a session that is a file.
func (l *listing) file(at string) bool {
	stem := strings.TrimSuffix(path.Base(at), ending)
	t := dialect.Transcript{Name: stem, Parts: []string{at}}
	return l.emit(t, at, stem, "")
}

// steps lists a session that is a folder with a file per line.
func (l *listing) steps(dir string) bool {
	entries, err := fs.ReadDir(l.home, dir)
	if err != nil {
		return l.yield(dialect.Transcript{Name: path.Base(dir)}, fmt.Errorf("list the session of CrabTalk %s: %w", dir, err))
	}
	var meta, steps []string
	for _, entry := range entries {
		digits, isStep := strings.CutPrefix(entry.Name(), stepPrefix)
		switch {
		case entry.IsDir():
		case entry.Name() == metaFile:
			meta = append(meta, path.Join(dir, entry.Name()))
		case isStep && digits != "" && strings.Trim(digits, "0123456789") == "":
			steps = append(steps, path.Join(dir, entry.Name()))
		}
	}
	if len(meta)+len(steps) == 0 {
		return true // not a session
	}
	slices.SortFunc(steps, func(a, b string) int { // numbers may outgrow their padding
		if d := len(a) - len(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	t := dialect.Transcript{Name: path.Base(dir), Parts: append(meta, steps...)}
	return l.emit(t, path.Join(dir, metaFile), t.Name, stepsSuffix)
}

// emit completes a transcript from its first line or its name and yields it. Files and
// folders are numbered separately, so the IDs of folders have a suffix.
func (l *listing) emit(t dialect.Transcript, at, stem, suffix string) bool {
	first, err := firstLine(l.home, at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l.yield(t, fmt.Errorf("read the first line of the session of CrabTalk %s: %w", at, err))
	}
	f, _ := readMembers(first)
	n, named := parseName(stem)
	if m, ok := readMeta(f); ok {
		t.Agent, t.Title, t.Created = m.agent, m.title, m.created
		t.Key, t.Row = keyOf(m.agent, m.sender), rawjson.CleanCopy(first)
		if own, ok := parseNameOf(stem, m.agent, m.sender); ok {
			n, named = own, true
		}
	} else if !named && len(first) > 0 {
		return l.yield(t, fmt.Errorf("CrabTalk session %s: %w: neither its name nor its first line names the owner", at, firn.ErrUnsupported))
	} else {
		t.Agent, t.Title, t.Key = n.agent, n.title, keyOf(n.agent, n.sender)
	}
	if dir := path.Dir(strings.TrimSuffix(at, "/"+metaFile)); dir != folder {
		suffix += "." + path.Base(dir)
	}
	t.ID = safeID(n.base(stem) + suffix)
	if l.taken[t.ID] { // duplicate number: use the whole name
		t.ID = safeID(stem + suffix)
	}
	if l.taken[t.ID] {
		t.ID = firn.ID(dialect.UUID(string(dialect.CrabTalk), t.Parts[0]))
	}
	l.taken[t.ID] = true
	return l.yield(t, nil)
}

// maxFirst limits how many bytes are read for the first line.
const maxFirst = 64 << 10

// firstLine reads the first line of a file.
func firstLine(home fs.FS, at string) ([]byte, error) {
	file, err := home.Open(at)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFirst))
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return []byte(strings.TrimSpace(line)), nil
}

// isMeta reports whether a line is a metadata line of CrabTalk.
func isMeta(line []byte) bool {
	f, err := readMembers(line)
	if err != nil {
		return false
	}
	_, ok := readMeta(f)
	return ok
}

// Place returns the path of the next session of the agent and the sender. Files without a
// number are ignored.
func (layout) Place(home fs.FS, to dialect.Target) (string, error) {
	agent, sender := identity(to)
	prefix := fileAgent(agent) + "_" + firn.CutText(slug(sender), maxPiece) + "_"
	entries, err := fs.ReadDir(home, folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find a name for session %s in CrabTalk's directory: %w", to.Session, err)
	}
	var last uint32
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), prefix)
		if !ok {
			continue
		}
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		if seq, ok := number(digits); ok {
			last = max(last, seq)
		}
	}
	if last+1 == 0 {
		return "", fmt.Errorf("find a name for session %s in CrabTalk's directory: %w: the last number is in use", to.Session, firn.ErrTooLarge)
	}
	file := prefix + strconv.FormatUint(uint64(last)+1, 10)
	if title := strings.Trim(firn.CutText(slug(to.Title), maxPiece), "-"); title != "" {
		file += "_" + title
	}
	return path.Join(folder, file+ending), nil
}

// Part returns false: a session is one file.
func (layout) Part(string, int64, int64) (string, bool) { return "", false }

// Index returns nothing: CrabTalk has no index.
func (layout) Index(fs.FS, string, dialect.Target) ([]dialect.File, error) { return nil, nil }

// Resume returns the command that attaches to CrabTalk, where /resume lists the session.
// The latest session of the agent and the sender is resumed automatically.
func (layout) Resume(string, dialect.Target) []string { return []string{"crabtalk", "attach"} }

// Retention returns 0: CrabTalk deletes no sessions.
func (layout) Retention(fs.FS) time.Duration { return 0 }

// Meta returns the first line with the new title and increased uptime in seconds.
func (layout) Meta(first []byte, to dialect.Target) ([]byte, bool) {
	f, err := readMembers(first)
	if err != nil {
		return nil, false
	}
	m, ok := readMeta(f)
	seconds := int64(to.Uptime / time.Second)
	if !ok || (to.Title == "" || to.Title == m.title) && seconds <= 0 {
		return nil, false
	}
	title := to.Title
	if title == "" {
		title = m.title
	}
	return rewrite(f, title, seconds), true
}

// Retitle puts the slug of the title at the end of the file name. CrabTalk appends it to an
// older one; here it replaces that. A name without a number stays the same, since it is the
// ID of the session, and so does one of a title without letters and digits.
func (layout) Retitle(at string, to dialect.Target) (string, bool) {
	stem, ok := strings.CutSuffix(path.Base(at), ending)
	title := strings.Trim(firn.CutText(slug(to.Title), maxPiece), "-")
	n, named := parseNameOf(stem, to.Agent, senderOf(to))
	if !named {
		n, named = parseName(stem)
	}
	if !ok || !named || n.seq == 0 || title == "" || title == n.title {
		return "", false
	}
	if n.title != "" {
		stem = strings.TrimSuffix(stem, "_"+n.title)
	}
	return path.Join(path.Dir(at), stem+"_"+title+ending), true
}

// senderOf returns the sender of a session.
func senderOf(to dialect.Target) string {
	_, sender := identity(to)
	return sender
}

// rewrite returns a first line with another title and more uptime. All other members are
// unchanged.
func rewrite(f members, title string, seconds int64) []byte {
	if f.get("title") == nil {
		f = append(slices.Clip(f), firn.Field{Name: "title"})
	}
	if f.get("uptime_secs") == nil {
		f = append(slices.Clip(f), firn.Field{Name: "uptime_secs"})
	}
	line := []byte{'{'}
	for _, member := range f {
		if len(line) > 1 {
			line = append(line, ',')
		}
		line = append(rawjson.AppendString(line, member.Name), ':')
		switch member.Name {
		case "title":
			line = rawjson.AppendString(line, title)
		case "uptime_secs":
			r := rawjson.New(member.Value)
			before, _ := r.Int()
			line = strconv.AppendInt(line, max(before, 0)+max(seconds, 0), 10)
		default:
			line = append(line, rawjson.CleanCopy(member.Value)...)
		}
	}
	return append(line, '}')
}
