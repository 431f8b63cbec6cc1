package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/grep"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/ops/backup"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/progress"
)

// This file is the only one in which commands access files of sessions. All other code uses
// a gateway, which opens the store that the home records.

// sessionStore is the store with the sessions that a command works on.
type sessionStore struct {
	p    *program
	home string
	// files is the directory with the sessions as plain files; empty if only a gateway can
	// read them.
	files string
	// url is the store, and gateway the address of a named gateway.
	url, gateway string
}

// storeInUse finds the store with the sessions of the home: that of the named or running
// gateway, or else the one that the home records or the settings name. It fails if these
// differ.
func (p *program) storeInUse(ctx context.Context) (*sessionStore, error) {
	settings, err := p.settings()
	if err != nil {
		return p.storeWithoutSettings(err)
	}
	note, err := settings.CheckStore(vfs.OS{}, config.Reading)
	if err != nil {
		return nil, wrongStore(err)
	}
	if note != "" {
		p.note(note)
	}
	s := &sessionStore{p: p, home: settings.Home, url: settings.Store.URL}
	if s.gateway = settings.Client.Gateway; s.gateway != "" {
		err = s.ownGateway(ctx, settings)
		return s.asNamed(), err
	}
	if dir, ok := settings.Store.Files(s.home); ok {
		s.files = dir
	}
	if address, ok := client.Find(ctx, s.home, nil); ok && p.store == "" {
		err = s.checkGatewayStore(ctx, address, settings)
	}
	return s.asNamed(), err
}

// asNamed replaces the home by the path that the user gave.
func (s *sessionStore) asNamed() *sessionStore {
	if home, err := s.p.homeDir(); err == nil {
		if s.files == s.home {
			s.files = home
		}
		s.home = home
	}
	return s
}

// storeWithoutSettings finds the store if the settings are invalid: the home's own files
// can be examined anyway, unless the home records another store.
func (p *program) storeWithoutSettings(wrong error) (*sessionStore, error) {
	home, err := p.homeDir()
	if err != nil {
		return nil, err
	}
	r, err := config.ReadRecord(vfs.OS{}, home)
	if err != nil {
		return nil, err
	}
	if r != nil && !config.SameStore(home, *r, config.StoreRecord{URL: "file:"}) || p.store != "" {
		return nil, wrong
	}
	return &sessionStore{p: p, home: home, files: home, url: "file:"}, nil
}

// wrongStore adds the hint to the error of a store that is not in use.
func wrongStore(err error) error {
	var w *config.WrongStore
	if errors.As(err, &w) {
		return &hinted{err, w.Hint}
	}
	return err
}

// ownGateway checks whether the named gateway serves this home. If so, its files can be
// read directly.
func (s *sessionStore) ownGateway(ctx context.Context, settings *config.Settings) error {
	status, err := s.p.statusOf(ctx, s.gateway, settings)
	if err != nil {
		return err
	}
	if dir, ok := settings.Store.Files(s.home); ok && status.Home == s.home && status.Store == filepath.Join(dir, "agents") {
		s.files, s.gateway = dir, ""
		return nil
	}
	if status.Home == s.home && status.Store == s.url {
		s.gateway = ""
	}
	return nil
}

// checkGatewayStore fails if the gateway that serves the home uses another store than the
// settings name, for example after a change of the settings.
func (s *sessionStore) checkGatewayStore(ctx context.Context, address string, settings *config.Settings) error {
	status, err := s.p.statusOf(ctx, address, settings)
	if err != nil {
		return err
	}
	ours := s.url
	if s.files != "" {
		ours = filepath.Join(s.files, "agents")
	}
	if status.Store == "" || status.Store == ours {
		return nil
	}
	return &hinted{failure.Of(firn.ErrConflict, "the gateway of %s uses the store %s, but the settings name %s", s.home, status.Store, ours),
		"restart the gateway, or set store.url to its store"}
}

// mustBeFiles rejects operations that require plain files.
func (s *sessionStore) mustBeFiles(what, hint string) error {
	if s.files != "" {
		return nil
	}
	return &hinted{failure.Of(firn.ErrUnsupported, "cannot %s: the sessions of %s are in %s, not in files", what, s.home, s.where()), hint}
}

// where returns the location of the sessions.
func (s *sessionStore) where() string {
	if s.gateway != "" {
		return "the gateway at " + s.gateway
	}
	return s.url
}

// mustBeLocal rejects operations on the local home if the sessions belong to a remote
// gateway.
func (s *sessionStore) mustBeLocal(what string) error {
	if s.gateway == "" {
		return nil
	}
	return &hinted{failure.Of(firn.ErrUnsupported, "cannot %s: the sessions belong to the gateway at %s", what, s.gateway),
		"run it on the gateway's machine; to use this machine's home, unset --gateway, FIRN_GATEWAY and client.gateway"}
}

// namesFile reports whether an argument is the path of a file or directory rather than a
// session. It prints a warning if that is an old copy from before a migration.
func (p *program) namesFile(args []string) bool {
	if len(args) == 0 {
		return false
	}
	if _, err := os.Stat(args[0]); err != nil {
		return false
	}
	home, err := p.homeDir()
	if err != nil {
		return true
	}
	p.noteCopy(home, args[0])
	return true
}

// noteCopy prints a warning if a path below the home is an old copy from before a
// migration.
func (p *program) noteCopy(home, path string) {
	home, err := filepath.Abs(home)
	if err != nil {
		return
	}
	if path, err = filepath.Abs(path); err != nil {
		return
	}
	r, err := config.ReadRecord(vfs.OS{}, home)
	if err != nil || r == nil || config.SameStore(home, *r, config.StoreRecord{URL: "file:"}) {
		return
	}
	agents := filepath.Join(home, "agents")
	if path == home || path == agents || strings.HasPrefix(path, agents+string(filepath.Separator)) {
		p.note(fmt.Sprintf("the sessions of %s are in %s; these files are an older copy", home, r.URL))
	}
}

// noteLeft prints after a purge that the store from before a migration still has the
// sessions.
func (p *program) noteLeft(ctx context.Context) {
	settings, err := p.settings()
	if err != nil || settings.Client.Gateway != "" {
		return
	}
	if r, err := config.ReadRecord(vfs.OS{}, settings.Home); err == nil && r != nil && r.Before != "" && ctx.Err() == nil {
		p.note(fmt.Sprintf("the sessions of this home were in %s until %s; older data there was not erased", config.StoreName(r.Before), r.Since.Local().Format("2006-01-02 15:04")))
	}
}

// target returns the session named by the argument; without one, all sessions.
func (s *sessionStore) target(args []string) (doctor.Target, error) {
	if len(args) > 0 {
		return s.p.withLineLimit(doctor.Find(nil, s.files, args[0]))
	}
	return s.p.withLineLimit(noHome(doctor.OpenHome(nil, s.files)))
}

// homeTarget returns the home, regardless of whether its sessions are in its own files.
func (s *sessionStore) homeTarget() (doctor.Target, error) {
	return s.p.withLineLimit(noHome(doctor.OpenHome(nil, s.home)))
}

// noHome adds the hint for a missing home.
func noHome(target doctor.Target, err error) (doctor.Target, error) {
	if errors.Is(err, firn.ErrNotFound) {
		err = &hinted{err, "set your home with --home or FIRN_HOME; a home is created with its first session"}
	}
	return target, err
}

// fileTarget returns the file or directory at a path.
func (p *program) fileTarget(path string) (doctor.Target, error) {
	home, err := p.homeDir()
	if err != nil {
		return doctor.Target{}, err
	}
	return p.withLineLimit(doctor.Find(nil, home, path))
}

// foreignTarget finds the transcript of a session in another tool's folder.
func (p *program) foreignTarget(tool dialect.Tool, dir, id string) (doctor.Target, error) {
	for t, err := range tool.Layout().Transcripts(os.DirFS(dir)) {
		if err == nil && string(t.ID) == id && len(t.Parts) > 0 {
			return p.fileTarget(filepath.Join(dir, filepath.FromSlash(t.Parts[0])))
		}
	}
	return doctor.Target{}, fmt.Errorf("find session %s in %s, the directory of %s: %w", id, dir, tool.Name(), firn.ErrNotFound)
}

// restored returns a home that was just restored from a backup, with its sessions in files.
func (p *program) restored(home string) (doctor.Target, error) {
	return p.withLineLimit(doctor.OpenHome(nil, home))
}

// withLineLimit sets the maximum line length from the settings.
func (p *program) withLineLimit(target doctor.Target, err error) (doctor.Target, error) {
	target.MaxLine = p.maxLine()
	return target, err
}

// transcripts returns the files to search: those of the sessions, if they are in files, and
// those of the mirrors.
func (s *sessionStore) transcripts() ([]string, error) {
	dirs := []string{filepath.Join(s.home, sourcesDir)}
	if s.files != "" {
		dirs = []string{filepath.Join(s.files, "agents"), filepath.Join(s.files, sourcesDir)}
	}
	return grep.Files(vfs.OS{}, true, dirs...)
}

// foreignTranscripts returns the transcripts in another tool's folder.
func foreignTranscripts(dir string) ([]string, error) { return grep.Files(vfs.OS{}, true, dir) }

// chooseFiles returns the named files among found.
func chooseFiles(found, names []string) ([]string, error) {
	return grep.Choose(vfs.OS{}, true, found, names)
}

// spareDir is the temporary copy of sessions for a backup, if they are not in the home's
// own files. Remains of a killed process are reused.
const spareDir = ".tmp-backup"

// pack creates a backup of the home and its sessions, wherever they are stored.
func (s *sessionStore) pack(ctx context.Context, to io.Writer, now time.Time, bar *progress.Bar) (sum backup.Summary, err error) {
	if err := s.mustBeLocal("create a backup"); err != nil {
		return sum, err
	}
	if s.files == s.home {
		return backup.Create(ctx, sealfs.Home(s.home), s.home, to, now, bar.Set)
	}
	if _, err := os.Stat(s.home); err != nil {
		return sum, fmt.Errorf("back up %s: %w", s.home, firn.ErrNotFound)
	}
	spare := filepath.Join(s.home, spareDir)
	r, err := storeCommands{s.p}.copyTo(ctx, s, spare, bar, func(string) {}) // warnings do not matter for a new copy
	if err == nil && !r.OK() {
		err = failure.Of(firn.ErrConflict, "back up %s: session %s changed while it was read: %s", s.home, r.Differ[0].Session, r.Differ[0].Detail)
	}
	if err != nil {
		return sum, err // the partial copy speeds up the next attempt
	}
	defer func() { err = errors.Join(err, vfs.RemoveAll(vfs.OS{}, spare)) }()
	record := config.StoreRecord{URL: "file:", Since: now.UTC().Truncate(time.Second), Before: s.url}
	if err := record.Write(vfs.OS{}, spare); err != nil {
		return sum, err
	}
	home := backup.Home{Dir: s.home, Sessions: spare}
	if dir, ok := (config.Store{URL: s.url}).Embedded(); ok {
		home.Exclude = dir
	}
	return backup.CreateFrom(ctx, vfs.OS{}, home, to, now, bar.Set)
}
