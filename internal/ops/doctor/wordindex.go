package doctor

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/find/fulltext"
	"firn.dev/store/filestore"
)

// CompareIndexes compares the indexes of a whole home with its sessions, which it reads
// completely, and adds differences to a report. Indexes can be rebuilt at any time, so
// differences are not faults. An outdated index is reported for the catalog only.
func CompareIndexes(ctx context.Context, home Target, report *Report) error {
	if !home.Home || !home.Whole {
		return nil
	}
	h := &homeExam{ctx: ctx, fs: home.fs, home: home.Root, maxLine: home.MaxLine, report: report, sessions: make(map[firn.ID][]transcript), mirrored: home.mirroredIDs()}
	for _, t := range home.transcripts {
		h.sessions[t.session] = append(h.sessions[t.session], t)
	}
	for _, check := range []func() (string, error){h.checkIndex, h.checkWords} {
		_, err := check()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			report.add(Finding{Severity: Warn, Kind: Index, File: "index", Message: err.Error(), Hint: indexHint})
		}
	}
	return nil
}

const indexHint = "run firn reindex; the index directory can be deleted safely"

// outdatedWords is the message for a full-text index of another version.
const outdatedWords = "the word index is from another version of firn and is rebuilt at the next search"

// checkWords compares the full-text index with the sessions.
func (h *homeExam) checkWords() (result string, err error) {
	sessions, err := filestore.Open(h.home, filestore.Options{ReadOnly: true, FS: h.fs, MaxLine: h.maxLine})
	if err != nil {
		return "", fmt.Errorf("check the word index: %w", err)
	}
	defer func() { err = errors.Join(err, sessions.Close()) }()
	words := fulltext.New(h.fs, h.path("index"), sessions, fulltext.Options{})
	if old, err := words.Outdated(h.ctx); old && err == nil { // damage is reported below
		h.report.add(Finding{Severity: Info, Kind: Index, File: "index", Message: outdatedWords, Hint: "no action needed; firn reindex rebuilds it now"})
		return outdatedWords, nil
	}
	differences, err := words.Compare(h.ctx)
	if err != nil {
		return "", fmt.Errorf("check the word index: %w", err)
	}
	for _, d := range differences {
		h.report.add(Finding{
			Severity: Warn, Kind: Index, Session: firn.ID(d.Session), File: "index",
			Message: "the word index does not match the sessions: " + d.Detail, Hint: indexHint,
		})
	}
	if len(differences) > 0 {
		return plural(len(differences), "disagreement"), nil
	}
	return agrees, nil
}
