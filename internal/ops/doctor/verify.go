package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
)

// Options configures an examination. The zero value is usable.
type Options struct {
	// Progress, if not nil, is called periodically and at the end with the number of bytes
	// read and the total.
	Progress func(done, total int64)
	// Each, if not nil, is called after each transcript with the number examined, the
	// total, and the findings.
	Each func(done, of int, found []Finding)
	// Limit is the maximum number of findings listed per kind and session; zero means 20.
	Limit int
	// Anchored are the ends of the sessions that an anchor recorded, to be compared.
	Anchored []Head
	// Model is the directory of the model that embeds messages, and ModelHint what to do if
	// it cannot be used. Empty means none.
	Model, ModelHint string
	// Disk returns the disk of a path; nil queries the system.
	Disk func(path string) (Disk, error)
}

const defaultLimit = 20

// Verify reads the target's transcripts completely and reports their faults. Its memory use
// is limited to the structure of one session and one line. The error is a context error, or
// means that the target cannot be read at all; faults of sessions are in the report.
func Verify(ctx context.Context, target Target, opts Options) (*Report, error) {
	w := newVerifier(ctx, target, opts)
	of, done := len(target.transcripts)+len(target.mirrors), 0
	each := func(examine func() error) error {
		before := len(w.report.Findings)
		err := examine()
		if done++; err == nil && opts.Each != nil {
			opts.Each(done, of, w.report.Findings[before:])
		}
		return err
	}
	for _, t := range target.transcripts {
		if err := each(func() error { _, err := w.examine(t); return err }); err != nil {
			return nil, err
		}
	}
	for _, m := range target.mirrors {
		if err := each(func() error { return w.examineMirrored(m) }); err != nil {
			return nil, err
		}
	}
	if err := w.concludeMissing(); err != nil {
		return nil, err
	}
	if w.report.Unlinked == w.report.Sessions { // a home from before
		w.report.Unlinked = 0
	}
	w.progress.end()
	return w.report, nil
}

// verifier examines all transcripts of a target.
type verifier struct {
	ctx      context.Context
	fs       vfs.FS
	target   Target
	limit    int
	report   *Report
	progress *progress
	// anchored are the sessions of the anchor; compared are those that exist.
	anchored map[firn.ID]Head
	compared map[firn.ID]bool
}

func newVerifier(ctx context.Context, target Target, opts Options) *verifier {
	w := &verifier{ctx: ctx, fs: target.fs, target: target, limit: opts.Limit}
	if w.limit <= 0 {
		w.limit = defaultLimit
	}
	w.report = &Report{Root: target.Root, Findings: []Finding{}}
	for _, f := range target.troubles {
		w.report.add(f)
	}
	w.anchored, w.compared = make(map[firn.ID]Head), make(map[firn.ID]bool)
	for _, h := range opts.Anchored {
		w.anchored[h.Session] = h
	}
	w.progress = &progress{report: opts.Progress}
	if opts.Progress != nil {
		for _, t := range target.transcripts {
			w.progress.total += sizeOf(target.fs, t)
		}
	}
	return w
}

// sizeOf returns the total size of the visible parts of a transcript.
func sizeOf(fsys vfs.FS, t transcript) int64 {
	parts, err := journal.Parts(fsys, t.base)
	if err != nil {
		return 0
	}
	total := int64(0)
	for _, p := range parts {
		total += p.Size
	}
	return total
}

// examine examines one transcript and adds the findings to the report.
func (w *verifier) examine(t transcript) (*exam, error) {
	e := newExam(w, t)
	if err := e.run(); err != nil {
		return nil, err
	}
	w.report.Sessions++
	w.report.Files += e.files
	w.report.Entries += e.entries
	w.report.Bytes += e.bytes
	if e.faults > 0 {
		w.report.Faulty++
	}
	return e, nil
}

// relative returns the path of a file as shown in the report.
func (w *verifier) relative(path string) string {
	if !w.target.Home {
		return path
	}
	return relative(w.target.Root, path)
}

func relative(home, path string) string {
	rel, err := filepath.Rel(home, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// progress reports the number of bytes read, once per megabyte.
type progress struct {
	report                func(done, total int64)
	done, reported, total int64
}

const progressStep = 1 << 20

func (p *progress) add(n int64) {
	p.done += n
	if p.report != nil && p.done-p.reported >= progressStep {
		p.reported = p.done
		p.report(p.done, max(p.total, p.done))
	}
}

func (p *progress) end() {
	if p.report != nil {
		p.report(p.done, p.done)
	}
}

// unreadable returns a finding for a system error that concerns one file.
func unreadable(file string, session firn.ID, err error) Finding {
	f := Finding{Severity: Fault, Kind: Unreadable, Session: session, File: file, Message: fmt.Sprintf("cannot be read: %v", err)}
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.Hint = "run firn as the owner of the file"
	case errors.Is(err, firn.ErrTooLarge):
		f.Hint = "the rest of the file was not checked"
	default:
		f.Hint = "copy the file away first, then check the system log: the disk may be failing"
	}
	return f
}
