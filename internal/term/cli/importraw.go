package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/render/prose"
)

// rawHome is the home of a tool that keeps sessions in files in another form than
// transcripts.
type rawHome struct {
	tool  dialect.Tool
	home  string
	files []string // relative to home, with slashes
}

// rawFinder finds such homes. It remembers each directory it has examined.
type rawFinder map[string]rawHome

// find returns the home that a file belongs to, if it is not a transcript.
func (f rawFinder) find(name string) (rawHome, bool) {
	file, err := filepath.Abs(name)
	if err != nil {
		return rawHome{}, false
	}
	dir := filepath.Dir(file)
	for range homeDepth {
		h := f.at(dir)
		rel, err := filepath.Rel(dir, file)
		if err == nil && slices.Contains(h.files, filepath.ToSlash(rel)) {
			return h, true
		}
		dir = filepath.Dir(dir)
	}
	return rawHome{}, false
}

// at examines a directory.
func (f rawFinder) at(dir string) rawHome {
	h, known := f[dir]
	if known {
		return h
	}
	tree := os.DirFS(dir)
	tool, _ := dialects.OwnerOf(dir)
	if v, ok := tool.(dialect.Viewer); ok && v.View(tree) != tree {
		h = rawHome{tool, dir, v.Raw(tree)}
	}
	f[dir] = h
	return h
}

// withoutRaw leaves out the files that are not transcripts, and names them. It fails if none
// is left.
func (p exchangeCommands) withoutRaw(list []transcript) ([]transcript, error) {
	finder := rawFinder{}
	var kept []transcript
	var skipped []rawHome
	var names []string
	for _, t := range list {
		if raw, ok := finder.find(t.files[0]); ok {
			skipped, names = append(skipped, raw), append(names, t.files[0])
			continue
		}
		kept = append(kept, t)
	}
	if len(kept) == 0 && len(skipped) > 0 {
		return nil, notTranscripts(skipped[0].tool, skipped[0].home)
	}
	for i, raw := range skipped {
		p.note(fmt.Sprintf("%s: skipped, a file of %s that is not a transcript; to mirror its sessions: firn adopt %s --yes", prose.Clean(names[i]), raw.tool.Name(), quote(raw.home)))
	}
	return kept, nil
}

// notTranscripts is the error for importing files of a tool that are not transcripts.
func notTranscripts(tool dialect.Tool, home string) error {
	return &hinted{failure.Of(firn.ErrUnsupported, "%s keeps its sessions in files that cannot be imported directly", tool.Name()), "to mirror them: firn adopt " + quote(home) + " --yes"}
}
