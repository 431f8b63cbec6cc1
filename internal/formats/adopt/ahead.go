package adopt

import (
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
	// Files are its parts in the mirror.
	Files []string
}

// Diverged returns the sessions among the grown files of which firn has its own copy, as
// reported by own.
func (m *Mirror) Diverged(own func(firn.ID) bool, grown []string) []Diverged {
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
		if own(t.ID) {
			d := Diverged{ID: t.ID, Title: t.Title}
			for _, part := range t.Parts {
				d.Files = append(d.Files, filepath.Join(m.Dir, filepath.FromSlash(part)))
			}
			all = append(all, d)
		}
	}
	return all
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
