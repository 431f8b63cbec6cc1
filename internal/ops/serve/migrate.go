package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/migrate"
	"firn.dev/store"
	"firn.dev/wire"
)

// CopyOptions configures [Migrate] and [Mirror].
type CopyOptions struct {
	Settings *config.Settings
	Env      func(name string) string
	// From and To are store URLs, as in store.url.
	From, To string
	// Source is the store that [Mirror] copies. From then names it, if it is not the store
	// of the settings.
	Source store.Source
	// Copy only copies the sessions: the home keeps using its current store.
	Copy bool
	// Report receives warnings, one sentence each.
	Report func(message string)
	// Progress, if not nil, receives the number of bytes read and the total. The total is
	// zero if unknown.
	Progress func(what string, done, total int64)
}

// Migrate moves all sessions from one store to another. If the source is the store of the
// home, the home records the new store at the end. No gateway may serve the home meanwhile,
// or any other home whose files are read or written.
func Migrate(ctx context.Context, c CopyOptions) (r *migrate.Report, err error) {
	if sameStore(c.Settings, c.From, c.To) {
		return nil, fmt.Errorf("migrate from %s to %s: %w: same store", c.From, c.To, firn.ErrInvalid)
	}
	if sealfs.Encrypted(c.Settings.Home) {
		return nil, &wire.Problem{Kind: wire.Unsupported, Message: "migrate: the home is encrypted, and only sessions in its own files can be", Hint: "run firn decrypt first"}
	}
	fsys := vfs.OS{}
	moves, err := c.moves(fsys)
	if err != nil {
		return nil, err
	}
	if moves && !c.holdsHome() {
		hold, err := holdHome(fsys, c.Settings.Home, "migrate")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, hold.Release()) }()
	}
	var sides [2]migrate.Side
	for i, url := range []string{c.From, c.To} {
		side, release, err := c.open(fsys, url, i == 0)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, release()) }()
		sides[i] = side
	}
	if r, err = migrate.Run(ctx, sides[0], sides[1], migrate.Options{Progress: c.Progress}); err != nil {
		return r, err
	}
	if err := c.list(ctx, sides[1]); err != nil || !moves || !r.OK() {
		return r, err
	}
	r.Moved = true
	return r, c.record(c.To).Write(fsys, c.Settings.Home)
}

// moves reports whether the sessions of the home are moved rather than copied: From is the
// store that holds them. Without a record in the home that is its own files or the store in
// the settings. The settings may already name the new store.
func (c *CopyOptions) moves(fsys vfs.FS) (bool, error) {
	if c.Copy {
		return false, nil
	}
	record, err := config.ReadRecord(fsys, c.Settings.Home)
	if err != nil {
		return false, wrongStore(err)
	}
	from, to := c.record(c.From), c.record(c.To)
	if record != nil {
		return config.SameStore(c.Settings.Home, *record, from), nil
	}
	own, set := config.StoreRecord{URL: "file:"}, c.record(c.Settings.Store.URL)
	same := func(a, b config.StoreRecord) bool { return config.SameStore(c.Settings.Home, a, b) }
	return same(from, own) || same(from, set) || same(to, set) && !same(to, own), nil
}

// record returns the store record of a URL.
func (c *CopyOptions) record(url string) config.StoreRecord {
	st := c.Settings.Store
	st.URL = url
	r := st.Record(c.Settings.Home)
	r.Since, r.Before = time.Now().UTC().Truncate(time.Second), c.From
	return r
}

// holdsHome reports whether one of the stores is the home itself, which is locked while it
// is open.
func (c *CopyOptions) holdsHome() bool {
	return sameStore(c.Settings, c.From, "file:") || sameStore(c.Settings, c.To, "file:")
}

// list lists the migrated sessions once. A remote store builds its session table on the
// first listing, which can take long for many sessions.
func (c *CopyOptions) list(ctx context.Context, to migrate.Side) error {
	st, ok := to.(store.Store)
	if !ok {
		return nil
	}
	if c.Progress != nil {
		c.Progress("listing", 0, 0)
	}
	for _, err := range st.List(ctx, store.Query{}) {
		if err != nil {
			return fmt.Errorf("all sessions are copied, but listing them failed: %w", err)
		}
	}
	return nil
}

// sameStore reports whether two URLs name the same store.
func sameStore(s *config.Settings, a, b string) bool {
	return config.SameStore(s.Home, config.StoreRecord{URL: a}, config.StoreRecord{URL: b})
}

// open opens a store for the duration of the migration. A home in files is locked so that
// no gateway can serve it. A source must exist.
func (c *CopyOptions) open(fsys vfs.FS, url string, source bool) (migrate.Side, func() error, error) {
	s := c.Settings.Store
	s.URL = url
	release := func() error { return nil }
	dir, files := s.Files(c.Settings.Home)
	if !files {
		dir, _ = s.Embedded()
	}
	if source && dir != "" {
		if _, err := fsys.Stat(dir); err != nil {
			return nil, nil, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("migrate from %s: %s does not exist", url, dir), Hint: "set the source with --from"}
		}
	}
	if files {
		hold, err := holdHome(fsys, dir, "migrate")
		if err != nil {
			return nil, nil, err
		}
		release = hold.Release
	}
	st, err := OpenStore(s, c.Settings.Home, StoreOptions{FS: fsys, Env: c.Env, Report: c.Report})
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	side, ok := st.(migrate.Side)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("migrate sessions of %s: %w", url, firn.ErrUnsupported), st.Close(), release())
	}
	return side, func() error { return errors.Join(st.Close(), release()) }, nil
}

// Hold locks a home that no gateway and no command is using.
func Hold(home, what string) (release func() error, err error) {
	hold, err := holdHome(vfs.OS{}, home, what)
	if err != nil {
		return nil, err
	}
	return hold.Release, nil
}

// holdHome locks a home that no command is using.
func holdHome(fsys vfs.FS, dir, what string) (*api.HomeLock, error) {
	hold, err := takeHold(fsys, dir, what)
	if err != nil {
		return nil, err
	}
	if err := checkNoGuests(fsys, dir); err != nil {
		return nil, errors.Join(err, hold.Release())
	}
	return hold, nil
}
