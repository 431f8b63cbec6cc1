package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/limits"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/internal/find/redact"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/internal/ops/config"
	"firn.dev/store/filestore"
	"firn.dev/store/jetstream"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// openStore opens the sessions and their list. The indexes of sessions in files are next to
// them; those of sessions in a cluster are in the home, which every gateway has separately.
func (h *Instance) openStore() error {
	if h.o.Ephemeral {
		h.store = h.counts.Store(memstore.New(memstore.Options{Now: h.o.Clock}))
		return nil
	}
	if h.o.Foreign != nil {
		return h.openForeign()
	}
	if err := h.checkStore(); err != nil {
		return err
	}
	s := h.o.Settings.Store
	dir, files := s.Files(h.home())
	if !files {
		dir = h.home()
	}
	if h.o.ReadOnly && h.storeMissing(s, dir) {
		h.store = memstore.New(memstore.Options{Now: h.o.Clock})
		return nil
	}
	own, err := OpenStore(s, h.home(), StoreOptions{FS: h.fs, Files: h.counts.Files(h.fs), Descriptors: h.descriptors, Env: h.o.Env, Clock: h.o.Clock, Report: h.o.Report, Damaged: h.counts.Damaged})
	if err != nil {
		return h.storeInUse(err)
	}
	if c, ok := own.(*clusterStore); ok {
		h.cluster = c.Store
	}
	all, err := h.withSources(own, dir)
	if err != nil {
		return errors.Join(err, own.Close())
	}
	catalog, err := index.Open(h.fs, filepath.Join(dir, "index"), all, index.Options{Report: h.o.Report})
	if err != nil {
		return errors.Join(err, all.Close())
	}
	h.store = h.counts.Store(h.indexed(index.Wrap(all, catalog), all, filepath.Join(dir, "index"), catalog))
	h.recordStore()
	return nil
}

// redactStore puts the replacement of secrets above the store, so that everything that is
// appended passes it. Ephemeral sessions are not stored and stay as they are.
func redactStore(h *Instance) {
	if h.o.Ephemeral || h.store == nil {
		return
	}
	h.redact.Store(h.o.Settings.Session.Redact)
	h.store = redact.Wrap(h.store, redact.Options{Enabled: h.redact.Load, Replaced: h.counts.Redacted})
}

// storeInUse determines the holder of a locked store. The error is ErrLocked if a gateway
// serves the home, and can be used instead. Otherwise the holder is another command.
func (h *Instance) storeInUse(err error) error {
	var p *wire.Problem
	if h.serves || !errors.Is(err, firn.ErrLocked) || !errors.As(err, &p) {
		return err
	}
	if held := checkUnserved(h.fs, h.home()); held != nil {
		return held
	}
	return &wire.Problem{Kind: wire.Busy, Message: p.Message, Hint: p.Hint}
}

// storeMissing reports whether the store does not exist yet.
func (h *Instance) storeMissing(s config.Store, dir string) bool {
	if _, files := s.Files(dir); !files {
		embedded, ok := s.Embedded()
		if !ok {
			return false // only the cluster itself knows
		}
		dir = embedded
	}
	_, err := h.fs.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// StoreOptions configures [OpenStore]. Only FS is required.
type StoreOptions struct {
	FS vfs.FS
	// Files is the file system for sessions in files, if it differs from FS.
	Files vfs.FS
	// Descriptors is the pool that FS and Files use when file descriptors run out; nil
	// means none.
	Descriptors *limits.Pool
	Env         func(name string) string
	Clock       func() time.Time
	// Report receives warnings, one sentence each.
	Report func(message string)
	// Damaged is called for each fault found, with the name of the cluster server whose
	// replica is incomplete.
	Damaged func(server string)
	// ReadOnly opens files read-only.
	ReadOnly bool
}

// OpenStore opens the store named in the settings and creates it if necessary. The error is
// [firn.ErrLocked] if another process has the embedded server open.
func OpenStore(s config.Store, home string, o StoreOptions) (unionstore.Own, error) {
	if o.Files == nil {
		o.Files = o.FS
	}
	if dir, ok := s.Files(home); ok {
		return filestore.Open(dir, filestore.Options{
			Sync: syncPolicy(s.Sync), PartSize: int64(s.PartSize), MaxBytes: int64(s.MaxBytes), MaxLine: int64(s.MaxLine), RotateKeys: int64(s.RotateKeys), Now: o.Clock, Report: o.Report, FS: o.Files, ReadOnly: o.ReadOnly, Descriptors: o.Descriptors, NoCommitLog: sealfs.Encrypted(dir),
		})
	}
	at := jetstream.Options{
		URL: s.URL, Credentials: s.Credentials, CA: s.CA, Cert: s.Cert, Key: s.Key, Space: s.Space, Shards: s.Shards, Replicas: s.Replicas,
		Monitors: s.Monitors, Unsafe: s.AllowUnsafe, SealAfter: cmp.Or(s.SealAfter, -1), Now: o.Clock, Report: o.Report,
	}
	if o.Damaged != nil {
		at.Damaged = func(f jetstream.Fault) { o.Damaged(f.Server) }
	}
	c := &clusterStore{}
	if dir, ok := s.Embedded(); ok {
		if err := c.embed(dir, s, o); err != nil {
			return nil, err
		}
		at.URL, at.Server, at.Shards = "", c.server, max(s.Shards, 1)
	}
	st, err := jetstream.Open(context.Background(), at)
	if err != nil {
		return nil, errors.Join(withStoreHint(err), c.release())
	}
	c.Store = st
	return c, nil
}

// withStoreHint adds a hint to an error of an unusable cluster.
func withStoreHint(err error) error {
	switch message := err.Error(); { // the message names the servers
	case errors.Is(err, firn.ErrUnavailable):
		return &wire.Problem{Kind: wire.Unavailable, Message: message, Hint: "check that the servers are running and reachable at store.url"}
	case errors.Is(err, firn.ErrUnsupported):
		return &wire.Problem{Kind: wire.Unsupported, Message: message, Hint: "set store.monitors to the servers' monitoring addresses, such as http://host:8222; store.allow_unsafe skips this check"}
	}
	return err
}

// clusterStore is a store in a cluster or in an embedded server.
type clusterStore struct {
	*jetstream.Store
	server *jetstream.Server
	lock   vfs.File
	limit  int64
	once   sync.Once
}

var _ unionstore.Own = (*clusterStore)(nil)

// storeLock is the lock file in the directory of an embedded server. Two processes using
// the directory would destroy each other's files.
const storeLock = "firn.lock"

// embed locks the directory and starts the embedded server.
func (c *clusterStore) embed(dir string, s config.Store, o StoreOptions) (err error) {
	if err := o.FS.MkdirAll(dir); err != nil {
		return fmt.Errorf("open store in %s: %w", dir, err)
	}
	if c.lock, err = takeStore(o.FS, dir); err != nil {
		return err
	}
	if o.Env == nil || o.Env("GOMEMLIMIT") == "" {
		c.limit = debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(c.limit, int64(s.MemoryLimit)))
	}
	if c.server, err = jetstream.NewServer(dir); err != nil {
		return errors.Join(err, c.release())
	}
	return nil
}

// storeWait limits the wait for another command that has the store open.
const storeWait = 2 * time.Second

// takeStore locks a store directory.
func takeStore(fsys vfs.FS, dir string) (vfs.File, error) {
	f, err := fsys.Open(filepath.Join(dir, storeLock), vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("open store in %s: %w", dir, err)
	}
	deadline := time.Now().Add(storeWait)
	for {
		got, err := f.TryLock()
		if got && err == nil {
			// The PID is informational: sessions on a full disk must still be readable.
			if f.Truncate(0) == nil {
				_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
			}
			return f, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open store in %s: %w", dir, err), f.Close())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(&wire.Problem{
				Kind: wire.Locked, Message: fmt.Sprintf("open store in %s: it is already open in another process%s", dir, storeHolder(f)),
				Hint: "end that chat or command, or run firn serve, which all commands can share",
			}, f.Close())
		}
		time.Sleep(storeWait / 100)
	}
}

// storeHolder describes the process that has a store open, if its PID is known.
func storeHolder(f vfs.File) string {
	name := make([]byte, 20)
	n, _ := f.ReadAt(name, 0) // the file is shorter
	if pid, err := strconv.Atoi(string(name[:n])); err == nil {
		return fmt.Sprintf(" (process %d)", pid)
	}
	return ""
}

// Close closes the store and then stops the server.
func (c *clusterStore) Close() (err error) {
	c.once.Do(func() { err = errors.Join(c.Store.Close(), c.release()) })
	return err
}

// release stops the server and unlocks the directory.
func (c *clusterStore) release() error {
	var errs []error
	if c.server != nil {
		errs = append(errs, c.server.Close())
	}
	if c.limit != 0 {
		debug.SetMemoryLimit(c.limit)
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Close()) // releases the lock
	}
	return errors.Join(errs...)
}

func syncPolicy(name string) filestore.Policy {
	switch name {
	case "always":
		return filestore.SyncAlways
	case "never":
		return filestore.SyncNever
	}
	return filestore.SyncTurn
}
