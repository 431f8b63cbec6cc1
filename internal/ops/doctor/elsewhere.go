package doctor

import (
	"context"
	"fmt"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/render/prose"
)

// Elsewhere is what was found out about sessions in another store than the home's own
// files.
type Elsewhere struct {
	// Store names the store.
	Store string
	// Sessions, Entries and Bytes count what was read there.
	Sessions, Entries int
	Bytes             int64
	Findings          []Finding
	// Accepted are faults that were accepted, and do not count.
	Accepted []Finding
}

// ExamineRest is Examine of a home whose sessions are in another store, which somebody
// else has looked at. Files of sessions that the home still has are an old copy, and are
// only counted.
func ExamineRest(ctx context.Context, home Target, there Elsewhere, opts Options) (*Report, error) {
	if !home.Home || !home.Whole {
		return nil, fmt.Errorf("examine %s: %w: it is not a home", home.Root, firn.ErrInvalid)
	}
	report := &Report{Root: home.Root, Sessions: there.Sessions, Entries: there.Entries, Bytes: there.Bytes, Findings: []Finding{}}
	h := &house{ctx: ctx, fs: home.fs, home: home.Root, opts: opts, report: report, sessions: make(map[firn.ID][]transcript), mirrored: home.mirroredIDs()}
	for _, t := range home.transcripts {
		h.sessions[t.session] = append(h.sessions[t.session], t)
	}
	h.agents = home.dirNames(filepath.Join(home.Root, "agents"))
	report.Accepted = there.Accepted
	sick := make(map[firn.ID]bool)
	for _, f := range there.Findings {
		report.add(f)
		if f.Severity == Fault && !sick[f.Session] {
			sick[f.Session] = true
			report.Sick++
		}
	}
	h.result("store", 0, fmt.Sprintf("%s: %s, %s", there.Store, plural(report.Sessions, "session"), prose.Size(report.Bytes)))
	for _, check := range []struct {
		name string
		do   func() (string, error)
	}{
		{"copy", func() (string, error) { return h.checkCopy(there.Store), nil }},
		{"permissions", h.checkPermissions},
		{"layout", h.checkLayout},
		{"mirrors", h.checkMirrors},
		{"disk", h.checkDisk},
	} {
		if err := h.check(check.name, check.do); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// checkCopy tells of sessions that the home has in its own files as well.
func (h *house) checkCopy(store string) string {
	if len(h.sessions) == 0 {
		return "none in the home's own files"
	}
	h.add(Info, Copy, h.path("agents"), fmt.Sprintf("%s in the home's own files are a copy from before the sessions were in %s: no command reads them", plural(len(h.sessions), "session"), store),
		"a purge does not reach them; delete them when nobody wants to go back")
	return plural(len(h.sessions), "session") + " in the home's own files, which are not read"
}
