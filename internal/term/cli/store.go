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
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/grep"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/ops/backup"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/progress"
)

// This file is the only one in which a command gets at files of sessions. Everything
// else asks a gateway, which opens the store that the home records.

// sessionStore is the store that holds the sessions which a command is about.
type sessionStore struct {
	p    *program
	home string
	// files is the directory that has the sessions as plain files; empty if they are
	// elsewhere, and only a gateway can read them.
	files string
	// url names the store, gateway the gateway if it is one that was named.
	url, gateway string
}

// storeInUse finds the store that holds the sessions of the home: the one that the
// gateway has that was named or that serves the home, or else the one that the home
// records or the settings name. It refuses if these are not one.
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

// asNamed calls the home what the user called it.
func (s *sessionStore) asNamed() *sessionStore {
	if home, err := s.p.homeDir(); err == nil {
		if s.files == s.home {
			s.files = home
		}
		s.home = home
	}
	return s
}

// storeWithoutSettings finds the store if the settings are wrong: the home's own files
// can be looked at anyhow, unless the home records another store.
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

// wrongStore gives the hint of a store that is not the one in use.
func wrongStore(err error) error {
	var w *config.WrongStore
	if errors.As(err, &w) {
		return &hinted{err, w.Hint}
	}
	return err
}

// ownGateway finds out whether the gateway that was named serves this home. If it does,
// its files are ours to read.
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

// agree refuses to go on if the gateway that serves the home has another store than
// the settings name, as after they were changed under it.
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
	return &hinted{fmt.Errorf("the gateway that serves %s has its sessions in %s, and the settings say %s: %w", s.home, status.Store, ours, firn.ErrConflict),
		"restart the gateway, or set store.url to the store that it has"}
}

// mustBeFiles refuses what only plain files can have done.
func (s *sessionStore) mustBeFiles(what, hint string) error {
	if s.files != "" {
		return nil
	}
	return &hinted{fmt.Errorf("%s: the sessions of %s are in %s, not in files: %w", what, s.home, s.where(), firn.ErrUnsupported), hint}
}

// where names the place that the sessions are in.
func (s *sessionStore) where() string {
	if s.gateway != "" {
		return "the gateway at " + s.gateway
	}
	return s.url
}

// here refuses to act on the home of this machine if the sessions are those of a
// gateway elsewhere.
func (s *sessionStore) mustBeLocal(what string) error {
	if s.gateway == "" {
		return nil
	}
	return &hinted{fmt.Errorf("%s: the sessions are those of the gateway at %s: %w", what, s.gateway, firn.ErrUnsupported),
		"run it on the machine of the gateway; to mean the home of this one, leave out --gateway, FIRN_GATEWAY and client.gateway"}
}

// namesFile reports whether an argument is the path of a file or a directory rather
// than a session, and says so if that is a copy from before the sessions moved.
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

// noteCopy says of a path below the home that it is a copy, if the sessions moved.
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
		p.note(fmt.Sprintf("the sessions of %s are in %s; these files are a copy from before", home, r.URL))
	}
}

// noteLeft says after a purge that the store which held the sessions before they moved
// still has them.
func (p *program) noteLeft(ctx context.Context) {
	settings, err := p.settings()
	if err != nil || settings.Client.Gateway != "" {
		return
	}
	if r, err := config.ReadRecord(vfs.OS{}, settings.Home); err == nil && r != nil && r.Before != "" && ctx.Err() == nil {
		p.note(fmt.Sprintf("the sessions of this home were in %s until %s: what was written there by then was not erased", config.StoreName(r.Before), r.Since.Local().Format("2006-01-02 15:04")))
	}
}

// target finds what is named by at most one argument; without one, all sessions.
func (s *sessionStore) target(args []string) (doctor.Target, error) {
	if len(args) > 0 {
		return s.p.withLineLimit(doctor.Find(nil, s.files, args[0]))
	}
	return s.p.withLineLimit(noHome(doctor.OpenHome(nil, s.files)))
}

// homeTarget is the home, whether its sessions are in its own files or not.
func (s *sessionStore) homeTarget() (doctor.Target, error) {
	return s.p.withLineLimit(noHome(doctor.OpenHome(nil, s.home)))
}

// noHome gives the hint for a home that is not there.
func noHome(target doctor.Target, err error) (doctor.Target, error) {
	if errors.Is(err, firn.ErrNotFound) {
		err = &hinted{err, "--home or FIRN_HOME says where yours is; a home comes to be with its first session"}
	}
	return target, err
}

// fileTarget finds a file or a directory that is named by its path.
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
	return doctor.Target{}, fmt.Errorf("find session %s in %s, the folder of %s: %w", id, dir, tool.Name(), firn.ErrNotFound)
}

// restored is a home that was just made of a backup, whose sessions are in files.
func (p *program) restored(home string) (doctor.Target, error) {
	return p.withLineLimit(doctor.OpenHome(nil, home))
}

// bounded gives a target the longest line that the settings allow.
func (p *program) withLineLimit(target doctor.Target, err error) (doctor.Target, error) {
	target.MaxLine = p.maxLine()
	return target, err
}

// transcripts finds the files to look through: those of the sessions, if they are in
// files, and of the mirrors of other tools; or of another tool's folder.
func (s *sessionStore) transcripts() ([]string, error) {
	dirs := []string{filepath.Join(s.home, sourcesDir)}
	if s.files != "" {
		dirs = []string{filepath.Join(s.files, "agents"), filepath.Join(s.files, sourcesDir)}
	}
	return grep.Files(vfs.OS{}, true, dirs...)
}

// foreignTranscripts finds the transcripts of another tool's folder.
func foreignTranscripts(dir string) ([]string, error) { return grep.Files(vfs.OS{}, true, dir) }

// chooseFiles picks the files that are named, of those that were found.
func chooseFiles(found, names []string) ([]string, error) {
	return grep.Choose(vfs.OS{}, true, found, names)
}

// spareDir is where the sessions of a store that is not the home's own files lie while
// a backup is made of them. What a process that died left there is used.
const spareDir = ".tmp-backup"

// pack makes a backup of the home and of its sessions, wherever those are.
func (s *sessionStore) pack(ctx context.Context, to io.Writer, now time.Time, bar *progress.Bar) (sum backup.Summary, err error) {
	if err := s.mustBeLocal("make a backup"); err != nil {
		return sum, err
	}
	if s.files == s.home {
		return backup.Create(ctx, vfs.OS{}, s.home, to, now, bar.Set)
	}
	if _, err := os.Stat(s.home); err != nil {
		return sum, fmt.Errorf("back up %s: %w", s.home, firn.ErrNotFound)
	}
	spare := filepath.Join(s.home, spareDir)
	r, err := s.p.copyTo(ctx, s, spare, bar, func(string) {}) // a copy that is new has no tables
	if err == nil && !r.OK() {
		err = fmt.Errorf("back up %s: session %s differs while it is read: %s: %w", s.home, r.Differ[0].Session, r.Differ[0].Detail, firn.ErrConflict)
	}
	if err != nil {
		return sum, err // what was copied makes the next try shorter
	}
	defer func() { err = errors.Join(err, vfs.RemoveAll(vfs.OS{}, spare)) }()
	record := config.StoreRecord{URL: "file:", Since: now.UTC().Truncate(time.Second), Before: s.url}
	if err := record.Write(vfs.OS{}, spare); err != nil {
		return sum, err
	}
	home := backup.Home{Dir: s.home, Sessions: spare}
	if dir, ok := (config.Store{URL: s.url}).Embedded(); ok {
		home.Without = dir
	}
	return backup.CreateFrom(ctx, vfs.OS{}, home, to, now, bar.Set)
}
