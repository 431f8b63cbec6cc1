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
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/internal/ops/config"
	"firn.dev/store/filestore"
	"firn.dev/store/jetstream"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// openStore opens the sessions and the list of them. The indexes of sessions in
// files are beside them; those of sessions in a cluster are in the home, which
// each gateway has its own of.
func (h *House) openStore() error {
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
	if h.o.Looks && h.missing(s, dir) {
		h.store = memstore.New(memstore.Options{Now: h.o.Clock})
		return nil
	}
	own, err := OpenStore(s, h.home(), Opening{FS: h.fs, Files: h.counts.Files(h.fs), Descriptors: h.descriptors, Env: h.o.Env, Clock: h.o.Clock, Report: h.o.Report, Damaged: h.counts.Damaged})
	if err != nil {
		return h.inUse(err)
	}
	if c, ok := own.(*cluster); ok {
		h.cluster = c.Store
	}
	all, err := h.withSources(own, dir)
	if err != nil {
		return errors.Join(err, own.Close())
	}
	catalogue, err := index.Open(h.fs, filepath.Join(dir, "index"), all, index.Options{Report: h.o.Report})
	if err != nil {
		return errors.Join(err, all.Close())
	}
	h.store = h.counts.Store(h.indexed(index.Wrap(all, catalogue), all, filepath.Join(dir, "index"), catalogue))
	h.recordStore()
	return nil
}

// inUse tells who has the store if it is taken: a gateway that serves the home is
// worth waiting for, which is an ErrLocked; another command is not.
func (h *House) inUse(err error) error {
	var p *wire.Problem
	if h.serves || !errors.Is(err, firn.ErrLocked) || !errors.As(err, &p) {
		return err
	}
	if held := free(h.fs, h.home()); held != nil {
		return held
	}
	return &wire.Problem{Kind: wire.Busy, Message: p.Message, Hint: p.Hint}
}

// missing reports whether there is nothing yet to be looked at.
func (h *House) missing(s config.Store, dir string) bool {
	if _, files := s.Files(dir); !files {
		embedded, ok := s.Embedded()
		if !ok {
			return false // whether anything is in a cluster it must tell
		}
		dir = embedded
	}
	_, err := h.fs.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// Opening says with what a store is opened. All but FS may be left out.
type Opening struct {
	FS vfs.FS
	// Files is what sessions in files are kept with, if that is another one.
	Files vfs.FS
	// Descriptors is what FS and Files ask when there is no file descriptor left;
	// nil means that they ask nobody.
	Descriptors *limits.Pool
	Env         func(name string) string
	Clock       func() time.Time
	// Report is told, in a sentence, of everything that was out of order.
	Report func(message string)
	// Damaged is called with the name of a server of a cluster whose replica lacks
	// what others have, for each fault that is found.
	Damaged func(server string)
	// Looks opens files only to be read.
	Looks bool
}

// OpenStore opens the store that settings name, and makes it if need be. If
// another process has an embedded server open, the error is [firn.ErrLocked].
func OpenStore(s config.Store, home string, o Opening) (unionstore.Own, error) {
	if o.Files == nil {
		o.Files = o.FS
	}
	if dir, ok := s.Files(home); ok {
		return filestore.Open(dir, filestore.Options{
			Sync: syncPolicy(s.Sync), PartSize: int64(s.PartSize), MaxBytes: int64(s.MaxBytes), MaxLine: int64(s.MaxLine), Now: o.Clock, Report: o.Report, FS: o.Files, ReadOnly: o.Looks, Descriptors: o.Descriptors,
		})
	}
	at := jetstream.Options{
		URL: s.URL, Credentials: s.Credentials, CA: s.CA, Cert: s.Cert, Key: s.Key, Space: s.Space, Shards: s.Shards, Replicas: s.Replicas,
		Monitors: s.Monitors, Unsafe: s.AllowUnsafe, SealAfter: cmp.Or(s.SealAfter, -1), Now: o.Clock, Report: o.Report,
	}
	if o.Damaged != nil {
		at.Damaged = func(f jetstream.Fault) { o.Damaged(f.Server) }
	}
	c := &cluster{}
	if dir, ok := s.Embedded(); ok {
		if err := c.embed(dir, s, o); err != nil {
			return nil, err
		}
		at.URL, at.Server, at.Shards = "", c.server, max(s.Shards, 1)
	}
	st, err := jetstream.Open(context.Background(), at)
	if err != nil {
		return nil, errors.Join(unreachable(err), c.letGo())
	}
	c.Store = st
	return c, nil
}

// unreachable adds what can be done about a cluster that cannot be used.
func unreachable(err error) error {
	switch message := err.Error(); { // it names the servers
	case errors.Is(err, firn.ErrUnavailable):
		return &wire.Problem{Kind: wire.Unavailable, Message: message, Hint: "see that the servers run and can be reached; store.url says where they are"}
	case errors.Is(err, firn.ErrUnsupported):
		return &wire.Problem{Kind: wire.Unsupported, Message: message, Hint: "set store.monitors to where the servers tell about themselves, such as http://host:8222; store.allow_unsafe takes the cluster all the same"}
	}
	return err
}

// cluster is a store in a cluster, or in a server of our own.
type cluster struct {
	*jetstream.Store
	server *jetstream.Server
	lock   vfs.File
	limit  int64
	once   sync.Once
}

var _ unionstore.Own = (*cluster)(nil)

// storeLock is the file in the directory of an embedded server whose lock says
// that a process has it open. Two would destroy each other's files.
const storeLock = "firn.lock"

// embed starts the server, for which it takes the directory.
func (c *cluster) embed(dir string, s config.Store, o Opening) (err error) {
	if err := o.FS.MkdirAll(dir); err != nil {
		return fmt.Errorf("open the store in %s: %w", dir, err)
	}
	if c.lock, err = takeStore(o.FS, dir); err != nil {
		return err
	}
	if o.Env == nil || o.Env("GOMEMLIMIT") == "" {
		c.limit = debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(c.limit, int64(s.MemoryLimit)))
	}
	if c.server, err = jetstream.NewServer(dir); err != nil {
		return errors.Join(err, c.letGo())
	}
	return nil
}

// storeWait is how long it is waited for another command that has the store
// open: most take moments only.
const storeWait = 2 * time.Second

// takeStore takes the lock of a directory.
func takeStore(fsys vfs.FS, dir string) (vfs.File, error) {
	f, err := fsys.Open(filepath.Join(dir, storeLock), vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("open the store in %s: %w", dir, err)
	}
	deadline := time.Now().Add(storeWait)
	for {
		got, err := f.TryLock()
		if got && err == nil {
			// The name is a courtesy: a full disk still has sessions to be read.
			if f.Truncate(0) == nil {
				_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
			}
			return f, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), f.Close())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(&wire.Problem{
				Kind: wire.Locked, Message: fmt.Sprintf("open the store in %s: another process has it open%s, and only one can", dir, storeHolder(f)),
				Hint: "end the chat or command that runs, or start firn serve, which all commands on its home talk to",
			}, f.Close())
		}
		time.Sleep(storeWait / 100)
	}
}

// storeHolder names the process that has a store open, if it left its name.
func storeHolder(f vfs.File) string {
	name := make([]byte, 20)
	n, _ := f.ReadAt(name, 0) // the file is shorter
	if pid, err := strconv.Atoi(string(name[:n])); err == nil {
		return fmt.Sprintf(" (process %d)", pid)
	}
	return ""
}

// Close closes the store, and then stops the server.
func (c *cluster) Close() (err error) {
	c.once.Do(func() { err = errors.Join(c.Store.Close(), c.letGo()) })
	return err
}

// letGo stops the server and gives the directory back.
func (c *cluster) letGo() error {
	var errs []error
	if c.server != nil {
		errs = append(errs, c.server.Close())
	}
	if c.limit != 0 {
		debug.SetMemoryLimit(c.limit)
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Close()) // which frees the lock
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
