package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/dialects"
)

// Mirror is a mirror file that differs from its state when it was copied.
const Mirror Kind = "mirror"

// The directory of mirrors, and the directory that marks sessions being taken over from
// one.
const (
	sourcesDir = "sources"
	takingDir  = "taking"
)

// mirrored is another tool's session in a mirror.
type mirrored struct {
	session firn.ID
	// dir is the mirror. parts are the session's files in it, with slashes.
	dir   string
	parts []string
	// stands holds the recorded state of the mirror's files.
	stands map[string]adopt.FileState
}

// listMirrors lists the sessions in mirrors without reading transcripts.
func (t *Target) listMirrors() {
	dir := filepath.Join(t.Root, sourcesDir)
	for _, name := range t.dirNames(dir) {
		if name == takingDir {
			continue
		}
		if err := t.listMirror(filepath.Join(dir, name)); err != nil {
			t.addTrouble(filepath.Join(dir, name), err)
		}
	}
}

func (t *Target) listMirror(dir string) error {
	manifest, err := adopt.ReadManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its first run is not finished
	}
	if err != nil {
		return err
	}
	tool, ok := dialects.Find(string(manifest.Tool))
	if !ok {
		return fmt.Errorf("unknown tool %q of the mirror: %w", manifest.Tool, firn.ErrUnsupported)
	}
	for transcript, err := range dialects.In(tool, dir).Layout().Transcripts(os.DirFS(dir)) {
		if err != nil {
			t.addTrouble(dir, err)
			continue
		}
		t.mirrors = append(t.mirrors, mirrored{transcript.ID, dir, transcript.Parts, manifest.Files})
	}
	return nil
}

// examineMirrored compares a mirrored session with the state recorded when it was copied.
// The content written by the tool is not examined.
func (w *verifier) examineMirrored(m mirrored) error {
	w.report.Sessions++
	sick := false
	for _, part := range m.parts {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(m.dir, filepath.FromSlash(part))
		n, sum, err := w.hashFile(path)
		w.report.Files++
		w.report.Bytes += n
		w.progress.add(n)
		stand := m.stands[part]
		switch {
		case err != nil:
			w.report.add(unreadable(w.relative(path), m.session, err))
			sick = true
		case stand.Sum != "" && (n != stand.CopySize || sum != stand.Sum):
			w.report.add(Finding{
				Severity: Fault, Kind: Mirror, Session: m.session, File: w.relative(path),
				Message: "differs from what was copied from the tool", Hint: "run firn adopt --yes; it copies the session again if the tool still has it",
			})
			sick = true
		}
	}
	if sick {
		w.report.Faulty++
	}
	return nil
}

// hashFile returns the size and hash of a file.
func (w *verifier) hashFile(path string) (int64, string, error) {
	file, err := w.fs.Open(path, vfs.Read)
	if err != nil {
		return 0, "", err
	}
	defer file.Close() // read-only
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	return n, hex.EncodeToString(sum.Sum(nil)), err
}

// mirroredIDs returns the IDs of the sessions in mirrors.
func (t *Target) mirroredIDs() map[firn.ID]bool {
	ids := make(map[firn.ID]bool, len(t.mirrors))
	for _, m := range t.mirrors {
		ids[m.session] = true
	}
	return ids
}

// findMirrored finds a session in the mirrors of a home.
func findMirrored(all Target, is func(firn.ID) bool, name string) (Target, error) {
	found := make(map[firn.ID]mirrored)
	for _, m := range all.mirrors {
		if _, twice := found[m.session]; is(m.session) && !twice {
			found[m.session] = m
		}
	}
	if exact, ok := found[firn.ID(name)]; ok {
		found = map[firn.ID]mirrored{exact.session: exact}
	}
	ids := slices.Sorted(maps.Keys(found))
	switch len(ids) {
	case 0:
		return Target{}, fmt.Errorf("session %s: %w", name, firn.ErrNotFound)
	case 1:
		return Target{Root: all.Root, Home: true, fs: all.fs, mirrors: []mirrored{found[ids[0]]}, troubles: all.troubles}, nil
	}
	return Target{}, &Ambiguous{Prefix: name, Sessions: ids}
}

// checkMirrors checks the mirrors and looks for sessions that were not completely taken
// over. Their transcripts were read before.
func (h *homeExam) checkMirrors() (string, error) {
	marks, err := h.list(h.path(sourcesDir, takingDir))
	if err != nil {
		return "", err
	}
	for _, name := range marks {
		path := h.path(sourcesDir, takingDir, name)
		switch {
		case name == ".lock" || h.leftover(path):
		case firn.ID(name).Check() != nil:
			h.stray(path)
		case h.mirrored[firn.ID(name)]:
			h.report.add(Finding{Severity: Info, Kind: Leftover, Session: firn.ID(name), File: relative(h.home, path), Message: "adoption from its mirror is in progress or was interrupted; until it finishes, the mirror is read", Hint: "append to the session to finish it"})
		default:
			h.report.add(Finding{Severity: Warn, Kind: Leftover, Session: firn.ID(name), File: relative(h.home, path), Message: "adoption from a mirror was interrupted, and the mirror no longer has the session: only the part already copied exists", Hint: "run firn adopt --yes; it restores the session if the tool still has it"})
		}
	}
	if len(h.mirrored) == 0 {
		return "none", nil
	}
	return plural(len(h.mirrored), "session"), nil
}
