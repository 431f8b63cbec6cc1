package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

// asideSuffix ends the names of unfinished files. [sealfs.Covered] treats them as the files
// that they become.
const asideSuffix = ".tmp-convert"

// DamagedDir is the directory in a home where an accepted decryption puts the encrypted files that
// were damaged. It has a directory for each key, with a copy of the marker.
const DamagedDir = sealfs.DamagedDir

// indexDir has caches, which are removed by a conversion and made again.
const indexDir = "index"

// Plan lists what a conversion does.
type Plan struct {
	// Files and Bytes are to be converted; Done are converted already.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	Done  int   `json:"done"`
	// Plain are files that are never encrypted: settings, locks and copies of other tools'
	// files. Links are not followed.
	Plain int      `json:"plain"`
	Links []string `json:"links,omitempty"`
	// Mirrors are copies of other tools' files, and Workspace the files of agents' workspaces.
	Mirrors   int `json:"mirrors"`
	Workspace int `json:"workspace"`

	// Other are files and directories in the home that are not firn's, such as a key that a
	// setting names. They stay as they are.
	Other []string `json:"other,omitempty"`
	// Damaged are files that were damaged, in the home. Transcripts have zero bytes in the
	// place of the damage, other files are gone. The encrypted files are in DamagedDir.
	Damaged []string `json:"damaged,omitempty"`

	home  string
	paths []string
	// remains are unfinished files of an interrupted conversion.
	remains []string
}

// ours are the files and directories of a home that a conversion converts, besides those that
// begin with a dot. Files with other names belong to the user, unless firn creates them in an
// encrypted home.
var ours = []string{
	"agents", "archive", "bin", "receipts", "commit", indexDir, "projects", "chat_history", "chat_history.new", "approvals.json", "sync", "files",
	"verify-accepted.jsonl", "anchor.key", "gateway",
}

// isOther reports whether a path relative to the home is not one of firn's.
func isOther(rel string) bool {
	return !strings.ContainsRune(rel, filepath.Separator) && !strings.HasPrefix(rel, ".") && sealfs.Covered(rel) && !slices.Contains(ours, rel)
}

// NewPlan examines a home. toPlain plans its decryption.
func NewPlan(ctx context.Context, home string, toPlain bool) (*Plan, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return nil, err
	}
	p := &Plan{home: home}
	return p, p.walk(ctx, home, toPlain)
}

func (p *Plan) walk(ctx context.Context, dir string, toPlain bool) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	entries, err := vfs.OS{}.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		rel, err := filepath.Rel(p.home, path)
		if err != nil {
			return err
		}
		switch {
		case rel == indexDir || rel == DamagedDir:
			continue // caches, and files that could not be decrypted
		case isAside(rel, e):
			p.remains = append(p.remains, path)
		case isOther(rel):
			err = p.addOther(path, rel, e, toPlain)
		case e.Type()&fs.ModeSymlink != 0:
			p.Links = append(p.Links, rel)
		case e.IsDir():
			err = p.walk(ctx, path, toPlain)
		case e.Type().IsRegular():
			err = p.add(path, rel, toPlain)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAside reports whether a file is unfinished: what an interrupted conversion left of a file
// that is ours.
func isAside(rel string, e fs.DirEntry) bool {
	name, ok := strings.CutSuffix(e.Name(), asideSuffix)
	if !ok || !e.Type().IsRegular() || !strings.HasPrefix(name, ".") {
		return false
	}
	final := filepath.Join(filepath.Dir(rel), name[1:])
	return sealfs.Covered(final) && !isOther(final)
}

// addOther notes a file or directory that is not ours. A file that firn encrypted when it
// created it is decrypted with the others.
func (p *Plan) addOther(path, rel string, e fs.DirEntry, toPlain bool) error {
	if e.Type().IsRegular() {
		encrypted, err := sealfs.IsSealed(vfs.OS{}, path)
		if err != nil || encrypted {
			return errors.Join(err, p.add(path, rel, toPlain))
		}
	}
	if e.Type().IsRegular() || e.IsDir() {
		p.Other = append(p.Other, rel)
	}
	return nil
}

// add adds a file to the plan.
func (p *Plan) add(path, rel string, toPlain bool) error {
	if !sealfs.Covered(rel) {
		p.Plain++
		switch top, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); top {
		case "sources":
			p.Mirrors++
		case "agents":
			p.Workspace++
		}
		return nil
	}
	info, err := vfs.OS{}.Stat(path)
	if err != nil {
		return err
	}
	encrypted, err := sealfs.IsSealed(vfs.OS{}, path)
	if err != nil {
		return err
	}
	if info.Size == 0 || encrypted != toPlain {
		p.Done++
		return nil
	}
	p.Files++
	p.Bytes += info.Size
	p.paths = append(p.paths, path)
	return nil
}

// Progress receives the number of converted bytes and their total.
type Progress func(done, total int64)

// Encrypt encrypts a home. No other process may use it. If it is interrupted, it continues
// where it was when it is called again, with the marker of the home and its key.
func Encrypt(ctx context.Context, home string, m *Marker, key sealfs.Key, report Progress) (*Plan, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return nil, err
	}
	// Commit logs are not encrypted. What they have goes into the transcripts first.
	if _, err := journal.Replay(vfs.OS{}, home); err != nil {
		return nil, err
	}
	m.State = Encrypting
	if err := m.write(home); err != nil {
		return nil, err
	}
	sealed := sealfs.New(vfs.OS{}, home, key, sealfs.Converting)
	p, err := convert(ctx, home, conversion{from: vfs.OS{}, to: sealed}, report)
	if err != nil {
		return p, err
	}
	m.State = Encrypted
	return p, m.write(home)
}

// Decrypt is the reverse of Encrypt. At the end the home has the same bytes as before it was
// encrypted. A damaged file is left encrypted and is an error, unless accept is set: then it is
// moved to [DamagedDir], and a transcript is decrypted with zero bytes in the place of the damage,
// as its readers see it.
func Decrypt(ctx context.Context, home string, m *Marker, key sealfs.Key, accept bool, report Progress) (*Plan, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return nil, err
	}
	m.State = Decrypting
	if err := m.write(home); err != nil {
		return nil, err
	}
	c := conversion{marker: m, key: key, toPlain: true, from: sealfs.NewStrict(vfs.OS{}, home, key, sealfs.Opening), to: vfs.OS{}}
	if accept {
		c.tolerant = sealfs.New(vfs.OS{}, home, key, sealfs.Opening)
	}
	p, err := convert(ctx, home, c, report)
	if err != nil {
		return p, err
	}
	if err := p.finish(ctx, home, c); err != nil {
		return p, err
	}
	if err := sealfs.RemoveRedo(vfs.OS{}, home); err != nil {
		return p, err
	}
	if err := (vfs.OS{}).Remove(markerPath(home)); err != nil {
		return p, err
	}
	return p, vfs.SyncNames(vfs.OS{}, home)
}

// conversion is what [convert] reads from and writes to.
type conversion struct {
	marker   *Marker
	key      sealfs.Key
	toPlain  bool
	from, to vfs.FS
	// tolerant reads damaged files; nil if they are left as they are.
	tolerant vfs.FS
}

// convert converts all files of a home. It continues after a file that cannot be converted
// and returns an error for it at the end.
func convert(ctx context.Context, home string, c conversion, report Progress) (*Plan, error) {
	if err := vfs.RemoveAll(vfs.OS{}, filepath.Join(home, indexDir)); err != nil {
		return nil, err
	}
	p, err := NewPlan(ctx, home, c.toPlain)
	if err != nil {
		return p, err
	}
	dirs, linked := make(map[string]bool), make(links)
	var failed []error
	for _, path := range p.remains { // which may be in plain text, if a decryption was interrupted
		if err := (vfs.OS{}).Remove(path); err != nil {
			return p, err
		}
		dirs[filepath.Dir(path)] = true
	}
	done := int64(0)
	for _, path := range p.paths {
		if err := context.Cause(ctx); err != nil {
			return p, err
		}
		n, err := convertFile(path, c.from, c.to, linked)
		if c.tolerant != nil && isDamage(err) {
			p.Damaged = append(p.Damaged, path)
			n, err = setAside(home, path, c, linked)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("convert %s: %w", path, err))
		}
		dirs[filepath.Dir(path)] = true
		if done += n; report != nil {
			report(done, p.Bytes)
		}
	}
	for dir := range dirs {
		if err := (vfs.OS{}).SyncDir(dir); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return p, failure.Of(firn.ErrCorrupt, "%d of %d files were not converted and stay as they were: %s", len(failed), p.Files, firstOf(failed))
	}
	return p, nil
}

// mostNamed is the maximum number of files in an error.
const mostNamed = 5

// firstOf returns the first errors as text.
func firstOf(failed []error) string {
	var b strings.Builder
	for i, err := range failed[:min(len(failed), mostNamed)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	if n := len(failed) - mostNamed; n > 0 {
		fmt.Fprintf(&b, "; and %d more", n)
	}
	return b.String()
}

// isDamage reports whether a file cannot be decrypted whatever is tried.
func isDamage(err error) bool {
	return errors.Is(err, firn.ErrCorrupt) || errors.Is(err, sealfs.ErrWrongKey)
}

// setAside moves a damaged file to [DamagedDir]. Of a transcript, the undamaged parts stay where
// they were, decrypted.
func setAside(home, path string, c conversion, linked links) (int64, error) {
	if err := c.keepDamaged(home, path); err != nil {
		return 0, err
	}
	n, err := convertFile(path, c.tolerant, c.to, linked)
	if isDamage(err) { // no part of it can be read
		return 0, vfs.OS{}.Remove(path)
	}
	return n, err
}

// damagedDir returns the directory for the damaged files of a home with this key.
func (c conversion) damagedDir(home string) string {
	return filepath.Join(home, DamagedDir, fmt.Sprintf("%x", check(c.key)[:4]))
}

// keepDamaged gives a file a second name in [DamagedDir], durably, after a copy of the marker,
// which has the key.
func (c conversion) keepDamaged(home, path string) error {
	rel, err := filepath.Rel(home, path)
	if err != nil {
		return err
	}
	dir := c.damagedDir(home)
	kept := filepath.Join(dir, rel)
	if err := (vfs.OS{}).MkdirAll(filepath.Dir(kept)); err != nil {
		return err
	}
	if copied, err := Read(dir); err != nil || !reflect.DeepEqual(copied, c.marker) {
		if err := c.marker.write(dir); err != nil {
			return err
		}
	}
	return linkFree(path, kept)
}

// linkFree gives a file a second name, durably. If another file has the name, a number is added.
func linkFree(path, name string) error {
	for n := 1; ; n++ {
		to := name
		if n > 1 {
			to = fmt.Sprintf("%s.%d", name, n)
		}
		err := vfs.OS{}.Link(path, to)
		if errors.Is(err, fs.ErrExist) {
			same, err := isSame(path, to)
			if err != nil {
				return err
			}
			if !same {
				continue
			}
		} else if err != nil {
			return err
		}
		return vfs.SyncNames(vfs.OS{}, filepath.Dir(to))
	}
}

// isSame reports whether two names are those of one file, as after an interrupted run.
func isSame(a, b string) (bool, error) {
	one, err := os.Lstat(a)
	if err != nil {
		return false, err
	}
	other, err := os.Lstat(b)
	return err == nil && os.SameFile(one, other), err
}

// stillEncrypted returns the files of a decrypted home that have encrypted parts, such as those
// whose first bytes are damaged: without the marker they could never be decrypted.
func stillEncrypted(ctx context.Context, home string, key sealfs.Key) (left []string, err error) {
	err = filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(home, path)
		switch {
		case err != nil || relErr != nil || context.Cause(ctx) != nil:
			return errors.Join(err, relErr, context.Cause(ctx))
		case e.IsDir() && rel == DamagedDir:
			return fs.SkipDir
		case !e.Type().IsRegular() || !sealfs.Covered(rel):
			return nil
		}
		encrypted, err := sealfs.HasRecords(vfs.OS{}, path, key)
		if encrypted {
			left = append(left, path)
		}
		return err
	})
	return left, err
}

// finish deals with files that are still encrypted after a decryption: it sets them aside if
// damage is accepted.
func (p *Plan) finish(ctx context.Context, home string, c conversion) error {
	left, err := stillEncrypted(ctx, home, c.key)
	if err != nil {
		return err
	}
	var failed []error
	for _, path := range left {
		if c.tolerant == nil {
			failed = append(failed, fmt.Errorf("%s is damaged", path))
			continue
		}
		p.Damaged = append(p.Damaged, path)
		if err := c.keepDamaged(home, path); err != nil {
			return err
		}
		if err := (vfs.OS{}).Remove(path); err != nil {
			return err
		}
		if err := vfs.SyncNames(vfs.OS{}, filepath.Dir(path)); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return failure.Of(firn.ErrCorrupt, "%d files are still encrypted: %s", len(failed), firstOf(failed))
	}
	return nil
}

// convertFile replaces a file by a converted one with the same time of change. It returns the
// size of the file that it read.
func convertFile(path string, from, to vfs.FS, linked links) (n int64, err error) {
	before, err := vfs.OS{}.Stat(path)
	if err != nil {
		return 0, err
	}
	aside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+asideSuffix)
	if err := (vfs.OS{}).Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if first := linked.find(before); first != "" && first != path {
		if err := (vfs.OS{}).Link(first, aside); err != nil {
			return 0, err
		}
		return before.Size, vfs.OS{}.Rename(aside, path)
	}
	if err := copyFile(from, path, to, aside); err != nil {
		return 0, errors.Join(err, ignoreMissing((vfs.OS{}).Remove(aside)))
	}
	if err := os.Chtimes(aside, before.ModTime, before.ModTime); err != nil {
		return 0, errors.Join(err, (vfs.OS{}).Remove(aside))
	}
	if err := (vfs.OS{}).Rename(aside, path); err != nil {
		return 0, err
	}
	linked.add(before, path)
	return before.Size, nil
}

// links has the first converted name of each file with several names.
type links map[[2]uint64]string

// find returns the converted file that another name of a file belongs to; empty if none is
// converted.
func (l links) find(info vfs.Info) string { return l[[2]uint64{info.Device, info.Inode}] }

// add records the first converted name of a file, as it was before.
func (l links) add(before vfs.Info, path string) {
	if before.Links > 1 {
		l[[2]uint64{before.Device, before.Inode}] = path
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// copyFile copies the content of a file durably, reads it back and compares it.
func copyFile(from vfs.FS, name string, to vfs.FS, copied string) (err error) {
	source, err := from.Open(name, vfs.Read)
	if err != nil {
		return err
	}
	defer source.Close() // read-only
	target, err := to.Open(copied, vfs.Create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	buf := make([]byte, 256<<10)
	for {
		n, err := source.Read(buf)
		if n > 0 {
			if _, err := target.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := target.Sync(); err != nil {
		return err
	}
	return compare(source, target, buf)
}

// compare returns an error if two files differ.
func compare(a, b vfs.File, buf []byte) error {
	half := len(buf) / 2
	for at := int64(0); ; {
		n, errA := a.ReadAt(buf[:half], at)
		m, errB := b.ReadAt(buf[half:2*half], at)
		if n != m || !bytes.Equal(buf[:n], buf[half:half+m]) {
			return fmt.Errorf("reading it back gives other bytes at %d", at) // not damage of the source
		}
		if at += int64(n); n < half {
			return errors.Join(notEnd(errA), notEnd(errB))
		}
	}
}

func notEnd(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
