package doctor

import (
	"context"
	"fmt"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/render/prose"
)

// Elsewhere is the result of checking sessions in a store other than the home's own files.
type Elsewhere struct {
	// Store is the name of the store.
	Store string
	// Sessions, Entries and Bytes count the data that was read there.
	Sessions, Entries int
	Bytes             int64
	Findings          []Finding
	// Accepted are accepted faults, which do not count.
	Accepted []Finding
}

// ExamineRest is like Examine for a home whose sessions are in another store and were
// checked separately. Session files still in the home are an old copy and are only counted.
func ExamineRest(ctx context.Context, home Target, there Elsewhere, opts Options) (*Report, error) {
	if !home.Home || !home.Whole {
		return nil, fmt.Errorf("examine %s: %w: not a home", home.Root, firn.ErrInvalid)
	}
	report := &Report{Root: home.Root, Sessions: there.Sessions, Entries: there.Entries, Bytes: there.Bytes, Findings: []Finding{}}
	h := &homeExam{ctx: ctx, fs: home.fs, home: home.Root, opts: opts, report: report, sessions: make(map[firn.ID][]transcript), mirrored: home.mirroredIDs()}
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
			report.Faulty++
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
	return report, h.checkModel()
}

// checkCopy adds a finding if the home's own files also contain sessions.
func (h *homeExam) checkCopy(store string) string {
	if len(h.sessions) == 0 {
		return "none in the home's own files"
	}
	h.add(Info, Copy, h.path("agents"), fmt.Sprintf("%s in the home's own files, an unused copy from before the move to %s", plural(len(h.sessions), "session"), store),
		"a purge does not reach them; delete them if you will not move back")
	return plural(len(h.sessions), "session") + " in the home's own files, not read"
}
