package sessionsync

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/memory"
)

// Notes are the notes of a home, in folders.
type Notes interface {
	// Folders lists the folders, relative to the home and with slashes.
	Folders(ctx context.Context) ([]string, error)
	// Texts returns the notes of a folder by name, and the names of files that are there but
	// cannot be published, such as one that is too large.
	Texts(ctx context.Context, folder string) (texts map[string]string, others []string, err error)
	// Replace changes notes of a folder that have certain texts; an empty text means that
	// there is no such note. If a note has another text, it fails with ErrConflict.
	Replace(ctx context.Context, folder string, was, texts map[string]string) error
}

// noteVersion is the version of a note without its text.
type noteVersion struct {
	// Seen is the number of changes by each machine that the version contains.
	Seen map[string]uint64 `json:"seen"`
	// At is the time of the last change, in milliseconds since 1970.
	At int64 `json:"at"`
	// Sum is the hash of the text; empty if the note was removed.
	Sum string `json:"sum,omitempty"`
	// Kept is set if the note stays on this machine. Then its removal stays too.
	Kept bool `json:"kept,omitempty"`
}

// noteRecord is a version of a note as it is published. A removed note has no place and no
// text.
type noteRecord struct {
	ID noteID `json:"id"`
	notePlace
	Text string            `json:"text,omitempty"`
	Seen map[string]uint64 `json:"seen"`
	At   int64             `json:"at"`
}

// notePlace is where a note is in a home.
type notePlace struct {
	Folder string `json:"folder,omitempty"`
	Name   string `json:"name,omitempty"`
}

// noteID is the hash of the place of a note. The names of people and projects in it can be
// erased, while it is known that the note was removed.
type noteID string

func (p notePlace) id() noteID {
	sum := sha256.Sum256([]byte(p.Folder + "/" + p.Name))
	return noteID(hex.EncodeToString(sum[:16]))
}

func (n *noteRecord) version() noteVersion {
	return noteVersion{Seen: n.Seen, At: n.At, Sum: sumOfNote(n.Text)}
}

// sumOfNote returns the hash of the text of a note; empty for no text.
func sumOfNote(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// hash identifies a version.
func (v noteVersion) hash() string {
	h := sha256.New()
	for _, machine := range slices.Sorted(maps.Keys(v.Seen)) {
		fmt.Fprintf(h, "%q %d\n", machine, v.Seen[machine]) // a hash never fails
	}
	fmt.Fprintf(h, "%q %d\n", v.Sum, v.At)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// maxSeen is the maximum number of machines in the version of a note.
const maxSeen = 1000

// check rejects a record that names no note, such as a file elsewhere in the home.
func (n *noteRecord) check() error {
	removed := n.notePlace == notePlace{} && n.Text == "" && n.ID != ""
	if !removed && (!isNoteFolder(n.Folder) || n.ID != n.notePlace.id()) || len(n.Seen) == 0 || len(n.Seen) > maxSeen {
		return failure.Of(firn.ErrCorrupt, "an invalid note")
	}
	if removed {
		return nil
	}
	if err := memory.CheckText(n.Name, n.Text); err != nil {
		return failure.Of(firn.ErrCorrupt, "%v", err)
	}
	return nil
}

// isNoteFolder reports whether a folder has the place of notes in a home:
// agents/AGENT/workspace, agents/AGENT/users/PERSON or projects/PROJECT.
func isNoteFolder(folder string) bool {
	parts := strings.Split(folder, "/")
	for _, part := range parts {
		if part == "" || len(part) > 255 || strings.HasPrefix(part, ".") || strings.ContainsAny(part, "\\:\x00") {
			return false
		}
	}
	switch {
	case parts[0] == "agents" && len(parts) == 3:
		return parts[2] == "workspace"
	case parts[0] == "agents" && len(parts) == 4:
		return parts[2] == "users"
	}
	return parts[0] == "projects" && len(parts) == 2
}

// mergeNotes returns the version of a note that contains two versions. The result does not
// depend on their order: a version that contains the other one wins. Otherwise both were
// changed, and they are joined.
func mergeNotes(a, b noteRecord) (noteRecord, error) {
	aHasB, bHasA := containsAll(a.Seen, b.Seen), containsAll(b.Seen, a.Seen)
	switch {
	case aHasB && (!bHasA || a.Text == b.Text):
		return a, nil
	case bHasA && !aHasB:
		return b, nil
	}
	return joinNotes(a, b)
}

// joinNotes returns a version with the lines of two versions: the newer one gets the lines
// that only the other one has. Lines that were removed in one only come back.
func joinNotes(a, b noteRecord) (noteRecord, error) {
	if cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Text, a.Text)) > 0 {
		a, b = b, a
	}
	seen := maps.Clone(a.Seen)
	for machine, n := range b.Seen {
		seen[machine] = max(seen[machine], n)
	}
	if a.Folder == "" {
		a.notePlace = b.notePlace
	}
	a.Seen, a.Text = seen, joinTexts(a.Text, b.Text)
	return a, memory.CheckText(a.Name, a.Text)
}

// containsAll reports whether a version contains all changes of another one.
func containsAll(seen, other map[string]uint64) bool {
	for machine, n := range other {
		if seen[machine] < n {
			return false
		}
	}
	return true
}

// joinTexts adds the lines to a note that only another version of it has. The properties at
// its start stay.
func joinTexts(text, other string) string {
	if text == "" || other == "" {
		return text + other
	}
	has := make(map[string]bool)
	for line := range strings.Lines(text) {
		has[strings.TrimSpace(line)] = true
	}
	var joined strings.Builder
	joined.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		joined.WriteByte('\n')
	}
	for line := range strings.Lines(withoutProperties(other)) {
		plain := strings.TrimSpace(line)
		if plain == "" || has[plain] {
			continue
		}
		has[plain] = true
		joined.WriteString(strings.TrimRight(line, "\r\n"))
		joined.WriteByte('\n')
	}
	return joined.String()
}

// withoutProperties returns a note without the properties at its start.
func withoutProperties(text string) string {
	const fence = "---\n"
	if rest, ok := strings.CutPrefix(text, fence); ok {
		if _, body, ok := strings.Cut(rest, "\n"+fence); ok {
			return body
		}
	}
	return text
}

// noteTable holds the versions of the notes of this home, and while a sync runs their texts.
type noteTable struct {
	Known map[noteID]noteVersion `json:"known"`
	// places and texts are those of the notes that exist.
	places map[noteID]notePlace
	texts  map[noteID]string
	// others are files that are there but cannot be published. They are left as they are.
	others map[noteID]bool
	// dirty is set if there are versions that were not saved.
	dirty bool
}

func (r *run) notesPath() string { return filepath.Join(r.Dir, "notes.json") }

func (r *run) saveNotes() error {
	if !r.notes.dirty {
		return nil
	}
	err := writeJSON(r.FS, r.notesPath(), r.notes)
	r.notes.dirty = err != nil
	return err
}

// syncsNotes reports whether notes are synced in this run.
func (r *run) syncsNotes() bool { return r.st.WithNotes }

// observeNotes reads the notes and records which were changed on this machine since the last
// sync. If they cannot be read, only sessions are synced.
func (r *run) observeNotes(ctx context.Context) error {
	r.notes = noteTable{
		Known: make(map[noteID]noteVersion), places: make(map[noteID]notePlace), texts: make(map[noteID]string), others: make(map[noteID]bool),
	}
	before := r.st.WithNotes
	if r.st.WithNotes = r.Notes != nil && !r.Config.Exclude.Notes; !r.st.WithNotes {
		return nil
	}
	if err := r.readNotes(ctx); err != nil {
		r.st.WithNotes = false
		r.problem("the notes cannot be read: %v; they are synced later", err)
		return ctx.Err()
	}
	r.st.ReadAgain = r.st.ReadAgain || !before
	for id := range r.notes.texts {
		r.observeNote(id)
	}
	for id := range r.notes.Known {
		r.observeNote(id)
	}
	return nil
}

// readNotes reads the notes and their known versions.
func (r *run) readNotes(ctx context.Context) error {
	if _, err := readJSON(r.FS, r.notesPath(), &r.notes); err != nil {
		return err
	}
	folders, err := r.Notes.Folders(ctx)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		texts, others, err := r.Notes.Texts(ctx, folder)
		if err != nil {
			return err
		}
		for name, text := range texts {
			p := notePlace{folder, name}
			r.notes.places[p.id()], r.notes.texts[p.id()] = p, text
		}
		for _, name := range others {
			r.notes.others[notePlace{folder, name}.id()] = true
		}
	}
	return nil
}

// observeNote records a change of a note. It counts as newer than the version that was known
// here, even if the clock is behind.
func (r *run) observeNote(id noteID) {
	known := r.notes.Known[id]
	sum := sumOfNote(r.notes.texts[id])
	if sum == known.Sum || r.notes.others[id] {
		return
	}
	seen := maps.Clone(known.Seen)
	if seen == nil {
		seen = make(map[string]uint64)
	}
	seen[r.Config.Machine]++
	r.notes.dirty = true
	r.notes.Known[id] = noteVersion{seen, max(r.report.Time.UnixMilli(), known.At+1), sum, known.Kept}
}

// importNotes merges the notes of a manifest with those of this home.
func (r *run) importNotes(ctx context.Context, from listed, all []noteRecord) error {
	if !r.syncsNotes() || len(all) == 0 {
		return nil
	}
	merged := make(map[noteID]noteRecord)
	for _, n := range all {
		if err := r.mergeNote(merged, n); err != nil {
			r.problem("a note of machine %s cannot be merged: %v", from.Name, err)
			r.fail(from.Machine, from.Counter)
			continue
		}
		now := merged[n.ID]
		if v := now.version(); v.hash() == n.version().hash() {
			r.st.Notes[n.ID] = v.hash() // it is on the target
		}
	}
	byFolder := make(map[string]map[noteID]noteRecord)
	for id, n := range merged {
		folder := cmp.Or(n.Folder, r.notes.places[id].Folder)
		if byFolder[folder] == nil {
			byFolder[folder] = make(map[noteID]noteRecord)
		}
		byFolder[folder][id] = n
	}
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		if err := r.replaceNotes(ctx, folder, byFolder[folder]); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.problem("notes in %s: %v; they are merged by a later sync", folder, err)
			r.fail(from.Machine, from.Counter)
		}
	}
	return r.saveNotes()
}

// mergeNote merges a version with what is merged so far, or else with the note of this home.
func (r *run) mergeNote(merged map[noteID]noteRecord, n noteRecord) (err error) {
	if r.notes.others[n.ID] {
		return failure.Of(firn.ErrUnsupported, "the file here is too large or no UTF-8 text")
	}
	if now, ok := merged[n.ID]; ok {
		merged[n.ID], err = mergeNotes(now, n)
		return err
	}
	known, ok := r.notes.Known[n.ID]
	if !ok {
		merged[n.ID] = n
		return nil
	}
	now := noteRecord{n.ID, r.notes.places[n.ID], r.notes.texts[n.ID], known.Seen, known.At}
	own := r.Config.Machine
	if n.Seen[own] > known.Seen[own] && n.Text != now.Text {
		// This home is an older copy, as from a backup: its counts mean other changes.
		if now, err = joinNotes(now, n); err == nil {
			now.Seen[own]++
			merged[n.ID] = now
		}
		return err
	}
	if now, err = mergeNotes(now, n); err == nil {
		merged[n.ID] = now
	}
	return err
}

// replaceNotes changes the notes of a folder as merged. What is left out because it was erased
// here counts as a change of this machine.
func (r *run) replaceNotes(ctx context.Context, folder string, merged map[noteID]noteRecord) error {
	was, texts := make(map[string]string), make(map[string]string)
	for id, n := range merged {
		if n.Text != r.notes.texts[id] {
			name := cmp.Or(n.Name, r.notes.places[id].Name)
			was[name], texts[name] = r.notes.texts[id], n.Text
		}
	}
	now := make(map[string]string)
	if len(texts) > 0 {
		if err := r.Notes.Replace(ctx, folder, was, texts); err != nil {
			return err
		}
		r.report.Notes += len(texts)
	}
	if folder != "" { // else they were removed, and are not here
		var err error
		if now, _, err = r.Notes.Texts(ctx, folder); err != nil {
			return err
		}
	}
	for id, n := range merged {
		r.notes.Known[id], r.notes.dirty = n.version(), true
		delete(r.notes.places, id)
		delete(r.notes.texts, id)
		if text := now[n.Name]; text != "" {
			r.notes.places[id], r.notes.texts[id] = n.notePlace, text
		}
		r.observeNote(id)
	}
	return nil
}

// publishNotes publishes the notes that changed. Notes that may be from a session that stays
// on this machine stay too.
func (r *run) publishNotes(ctx context.Context, o *outbox) error {
	if !r.syncsNotes() {
		return nil
	}
	kept := r.excludedSessions()
	for id, v := range r.notes.Known {
		n := noteRecord{id, r.notes.places[id], r.notes.texts[id], v.Seen, v.At}
		if stays := r.Config.Exclude.keepsNote(&n, kept); stays != v.Kept && n.Text != "" {
			v.Kept = stays
			r.notes.Known[id], r.notes.dirty = v, true
		}
	}
	if err := r.saveNotes(); err != nil { // before they are published
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(r.notes.Known)) {
		v := r.notes.Known[id]
		n := noteRecord{id, r.notes.places[id], r.notes.texts[id], v.Seen, v.At}
		if hash := v.hash(); r.st.Notes[id] != hash {
			if err := o.addNote(ctx, n, hash, v.Kept || r.Config.Exclude.keepsNote(&n, kept)); err != nil {
				return err
			}
		}
	}
	return nil
}

// excludedSessions returns the sessions that stay on this machine.
func (r *run) excludedSessions() []string {
	var all []string
	for id, p := range r.st.Sessions {
		if p.Excluded {
			all = append(all, string(id))
		}
	}
	for _, id := range r.Config.Exclude.Sessions {
		all = append(all, string(id))
	}
	return all
}

// keepsNote reports whether a note stays on this machine: it names a session that does, or
// belongs to a person or project while some of these are excluded.
func (x *Exclude) keepsNote(n *noteRecord, sessions []string) bool {
	switch {
	case x.Notes,
		len(x.Keys) > 0 && strings.Contains(n.Folder, "/users/"),
		len(x.Projects) > 0 && strings.HasPrefix(n.Folder, "projects/"):
		return true
	}
	return slices.ContainsFunc(sessions, func(id string) bool { return strings.Contains(n.Text, id) })
}

// HomeNotes are the notes in the files of a home. Agents is the directory of agents' notes;
// empty means agents in the home.
type HomeNotes struct {
	FS           vfs.FS
	Home, Agents string
}

var _ Notes = HomeNotes{}

// Folders implements [Notes].
func (h HomeNotes) Folders(context.Context) ([]string, error) {
	var all []string
	agents, err := h.list("agents")
	if err != nil {
		return nil, err
	}
	for _, agent := range agents {
		users, err := h.list(path.Join("agents", agent, "users"))
		if err != nil {
			return nil, err
		}
		all = append(all, path.Join("agents", agent, "workspace"))
		for _, user := range users {
			all = append(all, path.Join("agents", agent, "users", user))
		}
	}
	projects, err := h.list("projects")
	for _, project := range projects {
		all = append(all, path.Join("projects", project))
	}
	return slices.DeleteFunc(all, func(folder string) bool { return !isNoteFolder(folder) }), err
}

// list lists the directories in a directory of the home, none if it does not exist.
func (h HomeNotes) list(dir string) ([]string, error) {
	found, err := h.FS.ReadDir(h.path(dir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var names []string
	for _, f := range found {
		if f.IsDir() {
			names = append(names, f.Name())
		}
	}
	return names, nil
}

// path returns the path of a folder.
func (h HomeNotes) path(folder string) string {
	if rest, ok := strings.CutPrefix(folder, "agents"); ok && h.Agents != "" {
		return filepath.Join(h.Agents, filepath.FromSlash(rest))
	}
	return filepath.Join(h.Home, filepath.FromSlash(folder))
}

// Texts implements [Notes].
func (h HomeNotes) Texts(ctx context.Context, folder string) (texts map[string]string, others []string, err error) {
	return h.dir(folder).Texts(ctx)
}

// Replace implements [Notes].
func (h HomeNotes) Replace(ctx context.Context, folder string, was, texts map[string]string) error {
	return h.dir(folder).Replace(ctx, was, texts)
}

func (h HomeNotes) dir(folder string) memory.Files {
	return memory.Files{Dir: memory.Open(h.path(folder), memory.Options{FS: h.FS})}
}
