package adopt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
)

// manifestName is the file of a mirror that says what it mirrors.
const manifestName = "source.json"

// Manifest says what a mirror mirrors.
type Manifest struct {
	Tool dialect.Name `json:"tool"`
	Home string       `json:"home"`
	// At is when it was last brought up to date.
	At time.Time `json:"at"`
	// Files are those that were mirrored, as they stood.
	Files map[string]Stand `json:"files"`
}

// Stand is how a file and our copy of it stood when they were the same. As long
// as both still stand so, neither is read again.
type Stand struct {
	// Size and Modified are of the tool's file.
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified,omitzero"`
	// Held and HeldModified are of our copy, and Sum is the SHA-256 of it. A link
	// has none of them.
	Held         int64     `json:"held,omitempty"`
	HeldModified time.Time `json:"heldModified,omitzero"`
	Sum          string    `json:"sum,omitempty"`
}

// is reports whether nothing was changed since, on either side.
func (s Stand) is(theirs, ours vfs.Info) bool {
	return s.holds(ours) && s.Held == s.Size && s.Size == theirs.Size && s.Modified.Equal(theirs.ModTime)
}

// holds reports whether our copy is as we left it.
func (s Stand) holds(ours vfs.Info) bool {
	return s.Sum != "" && s.Held == ours.Size && s.HeldModified.Equal(ours.ModTime)
}

// settled is how long a file must have been left alone for its time to be
// trusted: file systems count time in steps, and within one a file can change
// without its time changing.
const settled = 2 * time.Second

// trusted is the time of a file, or none if it was changed only just now.
func trusted(at, now time.Time) time.Time {
	if now.Sub(at).Abs() < settled {
		return time.Time{}
	}
	return at.UTC()
}

// ReadManifest reads what a mirror mirrors.
func ReadManifest(dir string) (Manifest, error) {
	var m Manifest
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read %s of %s: %w: %w", manifestName, dir, firn.ErrCorrupt, err)
	}
	return m, nil
}

// manifest is what the last run noted. It is only there to save time, and to
// tell which of two copies is the wrong one: without it all files are compared.
func (m *Mirror) manifest() Manifest {
	manifest, err := ReadManifest(m.Dir)
	if err != nil || manifest.Files == nil {
		manifest = Manifest{Files: make(map[string]Stand)}
	}
	manifest.Tool, manifest.Home = m.Tool.Name(), m.Home
	return manifest
}

// write notes what was mirrored.
func (m *Mirror) write(manifest Manifest) error {
	manifest.At = m.Now().UTC()
	data, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(m.FS, filepath.Join(m.Dir, manifestName), append(data, '\n'))
}
