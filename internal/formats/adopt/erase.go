package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// erasedName is the file of a mirror that lists the erased files, so that the next run does
// not restore them.
const erasedName = "source.erased"

// asideMark follows the original name in the names of files that were put aside.
const asideMark = ".was-"

// Erase permanently deletes files from the mirror, including the older versions that were
// put aside, and records that they must not be mirrored again. It does not touch the tool's
// own files. It returns the number of bytes deleted. Erasing a file that is already gone is
// not an error.
func (m *Mirror) Erase(ctx context.Context, names []string) (bytes int64, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := m.noteErased(names); err != nil {
		return 0, fmt.Errorf("erase from the mirror %s: %w", m.Dir, err)
	}
	for _, name := range names {
		n, err := m.erase(name)
		bytes += n
		if err != nil {
			return bytes, fmt.Errorf("erase from the mirror %s: %w", m.Dir, err)
		}
	}
	manifest, err := ReadManifest(m.Dir)
	if err != nil {
		return bytes, err
	}
	for _, name := range names {
		delete(manifest.Files, name)
	}
	return bytes, m.write(manifest)
}

// Size returns the number of bytes that [Mirror.Erase] would delete.
func (m *Mirror) Size(names []string) (bytes int64, err error) {
	for _, name := range names {
		n, err := m.each(name, func(string) error { return nil })
		bytes += n
		if err != nil {
			return bytes, fmt.Errorf("read mirror %s: %w", m.Dir, err)
		}
	}
	return bytes, nil
}

// erase deletes one file and its older versions.
func (m *Mirror) erase(name string) (int64, error) {
	bytes, err := m.each(name, m.FS.Remove)
	if err != nil {
		return bytes, err
	}
	err = m.FS.SyncDir(filepath.Dir(filepath.Join(m.Dir, filepath.FromSlash(name))))
	if errors.Is(err, fs.ErrNotExist) { // the file does not exist either
		err = nil
	}
	return bytes, err
}

// each calls do for a file and its older versions, and returns their total size.
func (m *Mirror) each(name string, do func(path string) error) (bytes int64, err error) {
	dir, base := filepath.Split(filepath.Join(m.Dir, filepath.FromSlash(name)))
	entries, err := m.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Name() != base && !strings.HasPrefix(e.Name(), base+asideMark) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := m.FS.Stat(path)
		if err == nil {
			err = do(path)
		}
		if err != nil {
			return bytes, err
		}
		bytes += info.Size
	}
	return bytes, nil
}

// noteErased adds names to the list of erased files.
func (m *Mirror) noteErased(names []string) error {
	all, err := m.erased()
	if err != nil {
		return err
	}
	all = slices.Compact(slices.Sorted(slices.Values(append(all, names...))))
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(m.FS, filepath.Join(m.Dir, erasedName), append(data, '\n'))
}

// erased returns the names of erased files. If the list cannot be read, nothing may be
// mirrored, because it could restore an erased file.
func (m *Mirror) erased() (names []string, err error) {
	data, err := os.ReadFile(filepath.Join(m.Dir, erasedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		if err = json.Unmarshal(data, &names); err != nil {
			err = fmt.Errorf("%w: %w", firn.ErrCorrupt, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the erasures of mirror %s: %w", m.Dir, err)
	}
	return names, nil
}

// allowed returns the items that were not erased.
func (m *Mirror) allowed(items []item) ([]item, error) {
	erased, err := m.erased()
	return slices.DeleteFunc(items, func(it item) bool { return slices.Contains(erased, it.name) }), err
}
