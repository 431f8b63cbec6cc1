package doctor

import (
	"errors"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/index"
	"firn.dev/store/filestore"
)

// agrees is the result for an index without differences.
const agrees = "matches the sessions"

// checkIndex compares the catalog with the sessions. The catalog can be rebuilt at any
// time, so differences are not faults. The full-text index takes long to compare, so only
// its version is checked.
func (h *homeExam) checkIndex() (result string, err error) {
	dir := h.path("index")
	if !h.exists(dir) {
		return "none yet", nil
	}
	sessions, err := filestore.Open(h.home, filestore.Options{ReadOnly: true, FS: h.fs, MaxLine: h.maxLine})
	if err != nil {
		return "", fmt.Errorf("check the index: %w", err)
	}
	defer func() { err = errors.Join(err, sessions.Close()) }()
	catalog, err := index.Open(h.fs, dir, sessions, index.Options{ReadOnly: true})
	if err != nil {
		return "", fmt.Errorf("check the index: %w", err)
	}
	defer func() { err = errors.Join(err, catalog.Close()) }()
	points, err := catalog.Check(h.ctx)
	if err != nil {
		return "", fmt.Errorf("check the index: %w", err)
	}
	result = agrees
	switch old, err := fulltext.New(h.fs, dir, sessions, fulltext.Options{}).Outdated(h.ctx); {
	case errors.Is(err, firn.ErrCorrupt):
		result += "; the word index is damaged and is rebuilt at the next search"
	case err != nil:
		result += "; the word index cannot be checked: " + err.Error()
	case old:
		result += "; " + outdatedWords
	}
	disagree, behind := 0, 0
	for _, d := range points {
		if d.Kind == index.Double { // reported with the layout
			continue
		}
		if h.mirrored[d.ID] && len(h.sessions[d.ID]) == 0 { // only our own sessions were counted
			continue
		}
		if disagree++; d.Kind == index.Missing || d.Kind == index.Gone || d.Kind == index.Stale {
			behind++
			continue
		}
		h.report.add(Finding{
			Severity: indexSeverity(d.Kind), Kind: Index, Session: d.ID, File: "index",
			Message: fmt.Sprintf("the index does not match the sessions (%s): %s", d.Kind, d.Detail),
			Hint:    "it is updated at its next use; the index directory can be deleted safely",
		})
	}
	if behind > 0 { // normal while a gateway runs
		h.report.add(Finding{
			Severity: Info, Kind: Index, File: "index",
			Message: fmt.Sprintf("the index is out of date for %s", plural(behind, "session")),
			Hint:    "it is updated at its next use",
		})
	}
	if disagree > 0 {
		return plural(disagree, "disagreement") + strings.TrimPrefix(result, agrees), nil
	}
	return result, nil
}

// indexSeverity returns Warn for unexpected differences, and Info for normal ones such as a
// session that was just appended to.
func indexSeverity(kind index.DisagreementKind) Severity {
	if kind == index.Damaged || kind == index.Wrong {
		return Warn
	}
	return Info
}
