package adopt

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"firn.dev"
)

// Diverged is a session that was continued both in firn and in the tool: the mirror has
// entries of the tool that firn's copy lacks.
type Diverged struct {
	ID firn.ID
	// Title is the title that the tool's index has; may be empty.
	Title string
	// Parts are the names of its files in the mirror, Files their paths.
	Parts, Files []string
	// Err is set if it is unknown whether firn has its own copy.
	Err error
}

// Diverged returns the sessions among the grown files of which firn has its own copy, as
// reported by own.
func (m *Mirror) Diverged(own func(firn.ID) (bool, error), grown []string) []Diverged {
	if len(grown) == 0 {
		return nil
	}
	var all []Diverged
	for t, err := range m.Tool.Layout().Transcripts(os.DirFS(m.Dir)) {
		if err != nil || !slices.ContainsFunc(t.Parts, func(part string) bool { return slices.Contains(grown, part) }) {
			continue
		}
		if t.ID.Check() != nil {
			continue
		}
		if ok, err := own(t.ID); ok || err != nil {
			d := Diverged{ID: t.ID, Title: t.Title, Parts: t.Parts, Err: err}
			for _, part := range t.Parts {
				d.Files = append(d.Files, filepath.Join(m.Dir, filepath.FromSlash(part)))
			}
			all = append(all, d)
		}
	}
	return all
}

// Done records that grown files need no more attention, except those that failed: the next
// run lists these again.
func (m *Mirror) Done(ctx context.Context, grown, failed []string) (err error) {
	if len(grown) == 0 || len(failed) > 0 && containsAll(failed, grown) {
		return nil
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	manifest, err := ReadManifest(m.Dir)
	if err != nil {
		return err
	}
	manifest.Pending = slices.DeleteFunc(manifest.Pending, func(name string) bool {
		return slices.Contains(grown, name) && !slices.Contains(failed, name)
	})
	return m.write(manifest)
}

// containsAll reports whether a list has all names.
func containsAll(list, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
}

// merged returns the names of both lists, sorted.
func merged(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// grown returns the files that existed before and are longer now.
func grown(before, now map[string]FileState) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, ok := before[name]; ok && now[name].Size > old.Size {
			names = append(names, name)
		}
	}
	return names
}
