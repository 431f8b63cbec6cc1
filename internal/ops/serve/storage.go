package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/internal/ops/doctor"
	"firn.dev/wire"
)

// cacheTTL is how long storage figures are cached, since pages request them repeatedly.
const cacheTTL = 30 * time.Second

// cached caches a value for cacheTTL.
type cached[T any] struct {
	mu    sync.Mutex
	at    time.Time
	value T
}

// get returns the cached value, or calls ask if it has expired.
func (k *cached[T]) get(now time.Time, ask func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if since := now.Sub(k.at); !k.at.IsZero() && since >= 0 && since < cacheTTL {
		return k.value, nil
	}
	value, err := ask()
	if err == nil {
		k.at, k.value = now, value
	}
	return value, err
}

// storage returns the disk usage of everything except the sessions.
func (h *Instance) storage(ctx context.Context) (wire.Storage, error) {
	return h.storageCache.get(h.o.Clock(), func() (wire.Storage, error) {
		var s wire.Storage
		dir, ok := h.storeDir()
		if !ok || h.o.Foreign != nil {
			dir = h.home()
		}
		var errs []error
		for _, part := range []struct {
			size *int64
			dirs []string
		}{
			{&s.Index, []string{filepath.Join(dir, "index")}},
			{&s.Bin, []string{filepath.Join(dir, "bin")}},
			{&s.Memory, h.noteDirs()},
		} {
			for _, d := range part.dirs {
				n, err := sizeOf(ctx, h.fs, d)
				*part.size += n
				errs = append(errs, err)
			}
		}
		files, err := fileHistory(h.home()).Sizes()
		errs = append(errs, err)
		for _, n := range files {
			s.Files += n
		}
		if err := errors.Join(errs...); err != nil {
			return s, fmt.Errorf("measure disk usage: %w", err)
		}
		if disk, err := doctor.DiskOf(dir); err == nil { // omitted where unknown
			s.Free, s.Total = disk.Free, disk.Total
		}
		return s, nil
	})
}

// noteDirs returns the directories of notes: those of agents, people and projects.
func (h *Instance) noteDirs() []string {
	h.mu.Lock()
	c, agents := h.config, h.agents
	h.mu.Unlock()
	dirs := []string{filepath.Join(h.home(), projectsDir)}
	for id := range agents {
		root := h.notes.agentRoot(memoryOf(c, id), id)
		dirs = append(dirs, filepath.Join(root, "memory"), filepath.Join(filepath.Dir(root), usersDir))
	}
	return dirs
}

// sizeOf returns the total size in bytes of the files below a directory. It is zero if the
// directory does not exist.
func sizeOf(ctx context.Context, fsys vfs.FS, dir string) (int64, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	total := int64(0)
	for _, e := range entries {
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			n, err := sizeOf(ctx, fsys, path)
			if err != nil {
				return total, err
			}
			total += n
		case e.Type().IsRegular():
			if info, err := fsys.Stat(path); err == nil { // otherwise it was removed meanwhile
				total += info.Size
			}
		}
	}
	return total, err
}

// sources returns the mirrored folders of other tools, or the folder that replaces our own
// sessions.
func (h *Instance) sources(ctx context.Context) ([]wire.Source, error) {
	if f := h.o.Foreign; f != nil {
		name := string(f.Tool.Name())
		return []wire.Source{{Name: name, Tool: name, Dir: f.Dir, Checked: h.o.Clock()}}, nil
	}
	if h.mirrors == nil {
		return nil, nil
	}
	return h.sourcesCache.get(h.o.Clock(), func() ([]wire.Source, error) { return h.mirrors.describeAll(ctx, h.own) })
}

// describeAll describes all mirrors, including unreadable ones.
func (m *mirrors) describeAll(ctx context.Context, own unionstore.Source) ([]wire.Source, error) {
	m.all(true)
	entries, err := m.fs.ReadDir(m.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []wire.Source
	for _, e := range entries {
		dir := filepath.Join(m.dir, e.Name())
		if _, err := m.fs.Stat(filepath.Join(dir, mirrorManifest)); err != nil {
			continue
		}
		s := wire.Source{Name: e.Name(), Dir: dir}
		manifest, err := adopt.ReadManifest(dir)
		if err != nil {
			s.Faults = append(s.Faults, err.Error())
		} else {
			s.Tool, s.Dir, s.Checked = string(manifest.Tool), manifest.Home, manifest.At
		}
		if err := m.count(ctx, dir, own, &s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// count adds the faults of a mirror, and the number of its sessions that have been taken
// over, to s.
func (m *mirrors) count(ctx context.Context, dir string, own unionstore.Source, s *wire.Source) error {
	m.mu.Lock()
	st, output := m.open[dir], m.reported[dir]
	m.mu.Unlock()
	if output != "" && st == nil {
		s.Faults = append(s.Faults, output)
	}
	if st == nil {
		return nil
	}
	census, err := st.Census(ctx)
	if err != nil {
		return err
	}
	ours, err := own.Census(ctx)
	if err != nil {
		return err
	}
	have := make(map[firn.ID]bool, len(ours))
	for _, o := range ours {
		have[o.ID] = true
	}
	for _, c := range census {
		if have[c.ID] {
			s.Taken++
		}
	}
	return nil
}
