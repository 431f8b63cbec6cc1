package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/migrate"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// copyManifest is the file that says what a directory is a copy of. A directory
// without it is nobody's to overwrite.
const copyManifest = "mirror.json"

// copied is what a copy in files was made of, and when.
type copied struct {
	Store string    `json:"store"`
	Space string    `json:"space,omitempty"`
	At    time.Time `json:"at"`
	// Sessions tells how each stood when it was copied.
	Sessions map[firn.ID]stood `json:"sessions"`
}

// stood is how a session stood when it was copied.
type stood struct {
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified,omitzero"`
	Archived bool      `json:"archived,omitempty"`
	Removed  bool      `json:"removed,omitempty"`
	Purged   bool      `json:"purged,omitempty"`
}

func stands(h store.Holding) stood {
	return stood{h.Bytes, h.Modified.UTC().Round(0), h.Archived, h.Removed, h.Receipt != nil}
}

// Mirror brings a copy of all sessions of a store in files up to date.
func Mirror(ctx context.Context, c Carrying, dir string) (*migrate.Report, error) {
	m := &copyist{fs: vfs.OS{}, settings: c.Settings, store: c.From, dir: dir, report: c.Report, progress: c.Progress, clock: time.Now}
	return m.run(ctx, c.Source)
}

// copyist keeps a copy of all sessions in files.
type copyist struct {
	fs       vfs.FS
	settings *config.Settings
	// store names what is copied if it is not the store of the settings.
	store    string
	dir      string
	report   func(string)
	progress func(what string, done, total int64)
	clock    func() time.Time
}

// run brings the copy up to date. What has not changed since is not read. If it
// is interrupted, the next one goes on.
func (m *copyist) run(ctx context.Context, from store.Source) (r *migrate.Report, err error) {
	last, err := m.read()
	if err != nil {
		return nil, err
	}
	if err := m.fs.MkdirAll(m.dir); err != nil {
		return nil, fmt.Errorf("make a copy in %s: %w", m.dir, err)
	}
	hold, err := api.TakeHold(m.fs, m.dir, "mirror")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hold.Release()) }()
	if err := m.write(last); err != nil { // so that it is known as a copy from the first file on
		return nil, err
	}
	files, err := filestore.Open(m.dir, filestore.Options{PartSize: int64(m.settings.Store.PartSize), MaxLine: int64(m.settings.Store.MaxLine), Report: m.report, FS: m.fs, Now: m.clock})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	return m.follow(ctx, from, files, last)
}

// follow carries what has changed, and notes it.
func (m *copyist) follow(ctx context.Context, from store.Source, files *filestore.Store, last copied) (*migrate.Report, error) {
	begun := m.clock().UTC().Round(0)
	seen := make(map[firn.ID]stood)
	r, err := migrate.Run(ctx, from, files, migrate.Options{Copy: true, Progress: m.progress, Done: func(h store.Holding) bool {
		now := stands(h)
		seen[h.ID] = now
		then, ok := last.Sessions[h.ID]
		return ok && now == then
	}})
	if err != nil {
		return r, err
	}
	for _, d := range r.Differ { // which are looked at again
		delete(seen, d.Session)
	}
	last.At, last.Sessions = begun, seen
	return r, m.write(last)
}

func (m *copyist) path() string { return filepath.Join(m.dir, copyManifest) }

// read reads what the copy was made of. A directory with something else in it is
// refused, and so is the copy of another store.
func (m *copyist) read() (copied, error) {
	mine := copied{Store: m.settings.Store.URL, Space: m.settings.Store.Space, Sessions: make(map[firn.ID]stood)}
	if dir, ok := m.settings.Store.Files(m.settings.Home); ok {
		mine.Store, mine.Space = "file:"+dir, ""
	}
	if m.store != "" {
		mine.Store, mine.Space = m.store, ""
	}
	f, err := m.fs.Open(m.path(), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return mine, m.empty()
	}
	if err != nil {
		return mine, fmt.Errorf("look at the copy in %s: %w", m.dir, err)
	}
	defer f.Close() // only read
	data, err := io.ReadAll(f)
	if err != nil {
		return mine, fmt.Errorf("look at the copy in %s: %w", m.dir, err)
	}
	var last copied
	if err := json.Unmarshal(data, &last); err != nil {
		return mine, fmt.Errorf("look at the copy in %s: %w: %s: %w", m.dir, firn.ErrCorrupt, copyManifest, err)
	}
	if last.Sessions == nil {
		last.Sessions = mine.Sessions
	}
	if last.Store != mine.Store || last.Space != mine.Space {
		if m.movedFrom(last.Store) {
			last.Store, last.Space = mine.Store, mine.Space
			return last, nil
		}
		return mine, &wire.Problem{
			Kind: wire.Conflict, Message: fmt.Sprintf("%s is a copy of the store %s, not of %s", m.dir, last.Store, mine.Store),
			Hint: "name another directory; if the store has only moved, write where it is now into " + copyManifest + " there",
		}
	}
	return last, nil
}

// movedFrom reports whether the sessions of the home were in a store before they
// were moved to the one they are in now: a copy of it goes on as a copy of this one.
func (m *copyist) movedFrom(url string) bool {
	r, err := config.ReadRecord(m.fs, m.settings.Home)
	return err == nil && r != nil && m.store == "" && r.Before != "" &&
		config.SameStore(m.settings.Home, config.StoreRecord{URL: r.Before}, config.StoreRecord{URL: url})
}

// empty refuses a directory that has sessions and is no copy.
func (m *copyist) empty() error {
	if _, err := m.fs.Stat(filepath.Join(m.dir, "agents")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &wire.Problem{
		Kind: wire.Conflict, Message: fmt.Sprintf("%s has sessions of its own, and is no copy made by firn mirror", m.dir),
		Hint: "name a directory that is empty or not there",
	}
}

func (m *copyist) write(c copied) error {
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	if err := vfs.WriteFile(m.fs, m.path(), append(data, '\n')); err != nil {
		return fmt.Errorf("note what was copied to %s: %w", m.dir, err)
	}
	return nil
}

// startMirror keeps the copy that the settings ask for up to date, until stop is
// called.
func (h *House) startMirror(ctx context.Context) (stop func()) {
	side, ok := h.own.(store.Source)
	dir := h.o.Settings.Store.Mirror
	if dir == "" || !ok {
		return func() {}
	}
	m := &copyist{fs: h.fs, settings: h.o.Settings, dir: dir, report: h.o.Report, clock: h.o.Clock}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { h.mirror(ctx, m, side) })
	return func() {
		cancel()
		work.Wait()
	}
}

// mirror copies what is new, as often as the settings say. A gateway that was
// down when it should have does it when it starts.
func (h *House) mirror(ctx context.Context, m *copyist, from store.Source) {
	every := h.o.Settings.Store.MirrorEvery
	last, err := m.read()
	if err != nil {
		h.o.Log.Error("sessions are not copied", "directory", m.dir, "error", err.Error())
		return
	}
	timer := time.NewTimer(max(0, every-h.o.Clock().Sub(last.At)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		r, err := m.run(ctx, from)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.o.Log.Error("sessions were not copied", "directory", m.dir, "error", err.Error())
		default:
			h.o.Log.Info("sessions were copied", "directory", m.dir, "new", r.New, "longer", r.Longer, "replaced", r.Replaced, "lines", r.Added, "differ", len(r.Differ))
		}
		timer.Reset(every)
	}
}
