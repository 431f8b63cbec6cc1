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

// manifestName is the file of a mirror with its manifest.
const manifestName = "source.json"

// Manifest describes the contents of a mirror.
type Manifest struct {
	Tool dialect.Name `json:"tool"`
	Home string       `json:"home"`
	// At is the time of the last update.
	At time.Time `json:"at"`
	// Files holds the state of the mirrored files.
	Files map[string]FileState `json:"files"`
	// Stamp is the state of a home whose sessions are not files of their own. While it is the
	// same, nothing is read. It is empty if it is unknown or if a file failed.
	Stamp string `json:"stamp,omitempty"`
	// Pending lists the files that have grown and whose sessions were not yet compared with
	// firn's own copies, or could not be added to them.
	Pending []string `json:"pending,omitempty"`
}

// FileState is the state of a file and its copy when they were equal. While both are unchanged,
// neither is read again.
type FileState struct {
	// Size and Modified are those of the tool's file.
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified,omitzero"`
	// CopySize and CopyModified are size and time of the copy, Sum its SHA-256. They are empty
	// for a hard link.
	CopySize     int64     `json:"held,omitempty"`
	CopyModified time.Time `json:"heldModified,omitzero"`
	Sum          string    `json:"sum,omitempty"`
}

// unchanged reports whether neither file was changed since.
func (s FileState) unchanged(theirs, ours vfs.Info) bool {
	return s.holds(ours) && s.CopySize == s.Size && s.Size == theirs.Size && s.Modified.Equal(theirs.ModTime)
}

// holds reports whether the copy is unchanged.
func (s FileState) holds(ours vfs.Info) bool {
	return s.Sum != "" && s.CopySize == ours.Size && s.CopyModified.Equal(ours.ModTime)
}

// minFileAge is the minimum age of a modification time that is trusted: file systems have a
// coarse clock, and within one tick a file can change without its time changing.
const minFileAge = 2 * time.Second

// trustedTime returns the modification time of a file, or the zero time if the file was
// changed just now.
func trustedTime(at, now time.Time) time.Time {
	if now.Sub(at).Abs() < minFileAge {
		return time.Time{}
	}
	return at.UTC()
}

// ReadManifest reads the manifest of a mirror.
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

// manifest returns the manifest of the last run. It saves time and identifies the damaged
// one of two copies: without it all files are compared.
func (m *Mirror) manifest() Manifest {
	manifest, err := ReadManifest(m.Dir)
	if err != nil || manifest.Files == nil {
		manifest = Manifest{Files: make(map[string]FileState)}
	}
	manifest.Tool, manifest.Home = m.Tool.Name(), m.Home
	return manifest
}

// write stores the manifest.
func (m *Mirror) write(manifest Manifest) error {
	manifest.At = m.Now().UTC()
	data, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(m.FS, filepath.Join(m.Dir, manifestName), append(data, '\n'))
}
