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

// copyManifest is the file that describes the origin of a copy. A directory without it is
// never overwritten.
const copyManifest = "mirror.json"

// copyState is the content of copyManifest.
type copyState struct {
	Store string    `json:"store"`
	Space string    `json:"space,omitempty"`
	At    time.Time `json:"at"`
	// Sessions holds the state of each session when it was copied.
	Sessions map[firn.ID]sessionState `json:"sessions"`
}

// sessionState is the state of a session when it was copied.
type sessionState struct {
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified,omitzero"`
	Archived bool      `json:"archived,omitempty"`
	Removed  bool      `json:"removed,omitempty"`
	Purged   bool      `json:"purged,omitempty"`
}

func stateOf(h store.Holding) sessionState {
	return sessionState{h.Bytes, h.Modified.UTC().Round(0), h.Archived, h.Removed, h.Receipt != nil}
}

// Mirror updates a copy in files of all sessions of a store.
func Mirror(ctx context.Context, c CopyOptions, dir string) (*migrate.Report, error) {
	m := &mirrorer{fs: vfs.OS{}, settings: c.Settings, store: c.From, dir: dir, report: c.Report, progress: c.Progress, clock: time.Now}
	return m.run(ctx, c.Source)
}

// mirrorer maintains a copy of all sessions in files.
type mirrorer struct {
	fs       vfs.FS
	settings *config.Settings
	// store is the URL of the source, if it is not the store of the settings.
	store    string
	dir      string
	report   func(string)
	progress func(what string, done, total int64)
	clock    func() time.Time
}

// run updates the copy. Unchanged sessions are not read. An interrupted run is continued by
// the next one.
func (m *mirrorer) run(ctx context.Context, from store.Source) (r *migrate.Report, err error) {
	last, err := m.read()
	if err != nil {
		return nil, err
	}
	if err := m.fs.MkdirAll(m.dir); err != nil {
		return nil, fmt.Errorf("create copy in %s: %w", m.dir, err)
	}
	hold, err := api.LockHome(m.fs, m.dir, "mirror")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hold.Release()) }()
	if err := m.write(last); err != nil { // identifies the directory as a copy before any file is written
		return nil, err
	}
	files, err := filestore.Open(m.dir, filestore.Options{PartSize: int64(m.settings.Store.PartSize), MaxLine: int64(m.settings.Store.MaxLine), Report: m.report, FS: m.fs, Now: m.clock})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	return m.follow(ctx, from, files, last)
}

// follow copies changed sessions and updates the manifest.
func (m *mirrorer) follow(ctx context.Context, from store.Source, files *filestore.Store, last copyState) (*migrate.Report, error) {
	begun := m.clock().UTC().Round(0)
	seen := make(map[firn.ID]sessionState)
	r, err := migrate.Run(ctx, from, files, migrate.Options{Copy: true, Progress: m.progress, Done: func(h store.Holding) bool {
		now := stateOf(h)
		seen[h.ID] = now
		then, ok := last.Sessions[h.ID]
		return ok && now == then
	}})
	if err != nil {
		return r, err
	}
	for _, d := range r.Differ { // checked again next time
		delete(seen, d.Session)
	}
	last.At, last.Sessions = begun, seen
	return r, m.write(last)
}

func (m *mirrorer) path() string { return filepath.Join(m.dir, copyManifest) }

// read reads the manifest. It rejects a directory with other contents and a copy of a
// different store.
func (m *mirrorer) read() (copyState, error) {
	mine := copyState{Store: m.settings.Store.URL, Space: m.settings.Store.Space, Sessions: make(map[firn.ID]sessionState)}
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
		return mine, fmt.Errorf("read copy in %s: %w", m.dir, err)
	}
	defer f.Close() // read-only
	data, err := io.ReadAll(f)
	if err != nil {
		return mine, fmt.Errorf("read copy in %s: %w", m.dir, err)
	}
	var last copyState
	if err := json.Unmarshal(data, &last); err != nil {
		return mine, fmt.Errorf("read copy in %s: %w: %s: %w", m.dir, firn.ErrCorrupt, copyManifest, err)
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
			Hint: "choose another directory; if only the store's address changed, update it in " + copyManifest + " there",
		}
	}
	return last, nil
}

// movedFrom reports whether the sessions of the home were in the given store before they
// were moved to the current one. A copy of the old store is then continued as a copy of the
// new one.
func (m *mirrorer) movedFrom(url string) bool {
	r, err := config.ReadRecord(m.fs, m.settings.Home)
	return err == nil && r != nil && m.store == "" && r.Before != "" &&
		config.SameStore(m.settings.Home, config.StoreRecord{URL: r.Before}, config.StoreRecord{URL: url})
}

// empty fails if the directory contains sessions but is not a copy.
func (m *mirrorer) empty() error {
	if _, err := m.fs.Stat(filepath.Join(m.dir, "agents")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &wire.Problem{
		Kind: wire.Conflict, Message: fmt.Sprintf("%s has its own sessions and is not a copy made by firn mirror", m.dir),
		Hint: "choose an empty or new directory",
	}
}

func (m *mirrorer) write(c copyState) error {
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	if err := vfs.WriteFile(m.fs, m.path(), append(data, '\n')); err != nil {
		return fmt.Errorf("record the copy in %s: %w", m.dir, err)
	}
	return nil
}

// startMirror starts updating the copy configured in the settings and returns a function
// that stops it.
func (h *Instance) startMirror(ctx context.Context) (stop func()) {
	side, ok := h.own.(store.Source)
	dir := h.o.Settings.Store.Mirror
	if dir == "" || !ok {
		return func() {}
	}
	m := &mirrorer{fs: h.fs, settings: h.o.Settings, dir: dir, report: h.o.Report, clock: h.o.Clock}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { h.mirror(ctx, m, side) })
	return func() {
		cancel()
		work.Wait()
	}
}

// mirror updates the copy at the configured interval. A missed update runs at startup.
func (h *Instance) mirror(ctx context.Context, m *mirrorer, from store.Source) {
	every := h.o.Settings.Store.MirrorEvery
	last, err := m.read()
	if err != nil {
		h.o.Log.Error("copying sessions is disabled", "directory", m.dir, "error", err.Error())
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
			h.o.Log.Error("copying sessions failed", "directory", m.dir, "error", err.Error())
		default:
			h.o.Log.Info("sessions copied", "directory", m.dir, "new", r.New, "longer", r.Longer, "replaced", r.Replaced, "lines", r.Added, "differ", len(r.Differ))
		}
		timer.Reset(every)
	}
}
