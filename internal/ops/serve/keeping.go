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

// keepFor is how long what was found out about files holds. Whoever looks at a
// page asks again and again.
const keepFor = 30 * time.Second

// kept remembers for a while what took long to find out.
type kept[T any] struct {
	mu    sync.Mutex
	at    time.Time
	value T
}

// get returns what is remembered, or asks.
func (k *kept[T]) get(now time.Time, ask func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if since := now.Sub(k.at); !k.at.IsZero() && since >= 0 && since < keepFor {
		return k.value, nil
	}
	value, err := ask()
	if err == nil {
		k.at, k.value = now, value
	}
	return value, err
}

// keeping tells how much room is taken up by what, but for the sessions.
func (h *House) keeping(ctx context.Context) (wire.Storage, error) {
	return h.room.get(h.o.Clock(), func() (wire.Storage, error) {
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
		if err := errors.Join(errs...); err != nil {
			return s, fmt.Errorf("look how much room is taken up: %w", err)
		}
		if disk, err := doctor.DiskOf(dir); err == nil { // where that is not known nothing is told
			s.Free, s.Total = disk.Free, disk.Total
		}
		return s, nil
	})
}

// noteDirs are where notes are: those of agents, of people and of projects.
func (h *House) noteDirs() []string {
	h.mu.Lock()
	c, agents := h.config, h.agents
	h.mu.Unlock()
	dirs := []string{filepath.Join(h.home(), projectsDir)}
	for id := range agents {
		root := h.mind.agentRoot(memoryOf(c, id), id)
		dirs = append(dirs, filepath.Join(root, "memory"), filepath.Join(filepath.Dir(root), usersDir))
	}
	return dirs
}

// sizeOf adds up the files below a directory. One that is not there has none.
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
			if info, err := fsys.Stat(path); err == nil { // else it went meanwhile
				total += info.Size
			}
		}
	}
	return total, err
}

// sources tells which folders of other tools are mirrored, or which one takes
// the place of our own sessions.
func (h *House) sources(ctx context.Context) ([]wire.Source, error) {
	if f := h.o.Foreign; f != nil {
		name := string(f.Tool.Name())
		return []wire.Source{{Name: name, Tool: name, Dir: f.Dir, Checked: h.o.Clock()}}, nil
	}
	if h.mirrors == nil {
		return nil, nil
	}
	return h.mirrored.get(h.o.Clock(), func() ([]wire.Source, error) { return h.mirrors.tellAll(ctx, h.own) })
}

// tellAll tells of all mirrors, also of those that cannot be read.
func (m *mirrors) tellAll(ctx context.Context, own unionstore.Source) ([]wire.Source, error) {
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

// count tells how many sessions of a mirror are ours now, or what is wrong with
// it.
func (m *mirrors) count(ctx context.Context, dir string, own unionstore.Source, s *wire.Source) error {
	m.mu.Lock()
	st, told := m.open[dir], m.told[dir]
	m.mu.Unlock()
	if told != "" && st == nil {
		s.Faults = append(s.Faults, told)
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
