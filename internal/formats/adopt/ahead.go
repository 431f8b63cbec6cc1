package adopt

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"firn.dev"
)

// Ahead is a session that firn has gone on with, and the tool as well: what the
// tool said since is in the mirror, and not in firn's copy.
type Ahead struct {
	ID firn.ID
	// File is the last part of it in the mirror.
	File string
}

// Ahead tells which of the files that have grown belong to sessions that firn has a
// copy of its own of, which own tells.
func (m *Mirror) Ahead(own func(firn.ID) bool, grown []string) []Ahead {
	if len(grown) == 0 {
		return nil
	}
	var all []Ahead
	for t, err := range m.Tool.Layout().Transcripts(os.DirFS(m.Dir)) {
		if err != nil || !slices.ContainsFunc(t.Parts, func(part string) bool { return slices.Contains(grown, part) }) {
			continue
		}
		if t.ID.Check() != nil {
			continue
		}
		if own(t.ID) {
			all = append(all, Ahead{t.ID, filepath.Join(m.Dir, filepath.FromSlash(t.Parts[len(t.Parts)-1]))})
		}
	}
	return all
}

// grown names the files that were there before and are longer now.
func grown(before, now map[string]Stand) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, ok := before[name]; ok && now[name].Size > old.Size {
			names = append(names, name)
		}
	}
	return names
}
