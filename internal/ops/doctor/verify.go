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

// Options says how to examine. The zero value is a good one.
type Options struct {
	// Progress is told how many of all bytes were read, from time to time and
	// at the end. Nil: nobody.
	Progress func(done, total int64)
	// Each is told after each transcript how many of how many were looked at, and
	// what was found in it. Nil: nobody.
	Each func(done, of int, found []Finding)
	// Limit bounds how many findings of one kind are listed for one session; 20
	// if zero.
	Limit int
	// Disk tells of the disk that a path is on; nil asks the system.
	Disk func(path string) (Disk, error)
}

const defaultLimit = 20

// Verify reads every byte of the target's transcripts and reports what is wrong
// with them. It takes memory for the shape of one session at a time and for one
// line of it. The error is that of the context, or says that the target cannot
// be read at all; what is wrong with a session is in the report.
func Verify(ctx context.Context, target Target, opts Options) (*Report, error) {
	w := newWard(ctx, target, opts)
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
	w.progress.end()
	return w.report, nil
}

// ward is one round over all transcripts of a target.
type ward struct {
	ctx      context.Context
	fs       vfs.FS
	target   Target
	limit    int
	report   *Report
	progress *progress
}

func newWard(ctx context.Context, target Target, opts Options) *ward {
	w := &ward{ctx: ctx, fs: target.fs, target: target, limit: opts.Limit}
	if w.limit <= 0 {
		w.limit = defaultLimit
	}
	w.report = &Report{Root: target.Root, Findings: []Finding{}}
	for _, f := range target.troubles {
		w.report.add(f)
	}
	w.progress = &progress{tell: opts.Progress}
	if opts.Progress != nil {
		for _, t := range target.transcripts {
			w.progress.total += sizeOf(target.fs, t)
		}
	}
	return w
}

// sizeOf adds up the parts of a transcript, as far as they can be seen.
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

// examine looks at one transcript and takes what it finds into the report.
func (w *ward) examine(t transcript) (*exam, error) {
	e := newExam(w, t)
	if err := e.run(); err != nil {
		return nil, err
	}
	w.report.Sessions++
	w.report.Files += e.files
	w.report.Entries += e.entries
	w.report.Bytes += e.bytes
	if e.faults > 0 {
		w.report.Sick++
	}
	return e, nil
}

// relative is how a file is called in the report.
func (w *ward) relative(path string) string {
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

// progress tells somebody how far the reading is, once a megabyte.
type progress struct {
	tell              func(done, total int64)
	done, told, total int64
}

const progressStep = 1 << 20

func (p *progress) add(n int64) {
	p.done += n
	if p.tell != nil && p.done-p.told >= progressStep {
		p.told = p.done
		p.tell(p.done, max(p.total, p.done))
	}
}

func (p *progress) end() {
	if p.tell != nil {
		p.tell(p.done, p.done)
	}
}

// unreadable makes a finding of an error of the system, if it is one that
// concerns this file alone.
func unreadable(file string, session firn.ID, err error) Finding {
	f := Finding{Severity: Fault, Kind: Unreadable, Session: session, File: file, Message: fmt.Sprintf("it cannot be read: %v", err)}
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.Hint = "run firn as the owner of the file"
	case errors.Is(err, firn.ErrTooLarge):
		f.Hint = "the rest of the file was not looked at"
	default:
		f.Hint = "look at the system's log: the disk may be failing; copy the file away first"
	}
	return f
}
