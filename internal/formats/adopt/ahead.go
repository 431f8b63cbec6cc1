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
	// File is its last part in the mirror.
	File string
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
			all = append(all, Diverged{t.ID, filepath.Join(m.Dir, filepath.FromSlash(t.Parts[len(t.Parts)-1]))})
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
