package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/anchor"
	"firn.dev/internal/disk/chain"
	"firn.dev/internal/disk/journal"
)

// TakeAnchor brings the hash chains of all sessions of a home up to date and returns their
// last sums. Report, if not nil, is called after each session with the number done and the
// total. Sessions that are empty or unreadable are left out and named in left.
func TakeAnchor(ctx context.Context, target Target, report func(done, of int64)) (states []anchor.State, left []string, err error) {
	for i, t := range target.transcripts {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		source := journal.Source{FS: target.fs, Path: t.base, MaxLine: target.MaxLine}
		if err := chain.Extend(source, t.session, 0, ^firn.Pos(0)); err != nil {
			left = append(left, err.Error())
			continue
		}
		last, ok, err := chain.Last(target.fs, t.base)
		if err != nil {
			left = append(left, fmt.Sprintf("session %s: %v", t.session, err))
		} else if ok {
			states = append(states, anchor.State{Session: t.session, End: last.End, Sum: last.Sum})
		}
		if report != nil {
			report(int64(i+1), int64(len(target.transcripts)))
		}
	}
	slices.SortFunc(states, func(a, b anchor.State) int { return cmp.Compare(a.Session, b.Session) })
	return states, left, nil
}

// CompareAnchor adds the findings about sessions that are not as they were when an anchor
// was taken to a report of [Verify], which compares the transcripts with the hash chains.
func CompareAnchor(target Target, a anchor.Anchor, report *Report) {
	bases := make(map[firn.ID]string)
	for _, t := range target.transcripts {
		bases[t.session] = t.base
	}
	since := a.Time.UTC().Format("2006-01-02 15:04") + " UTC"
	for _, s := range a.Sessions {
		if f, ok := target.compareState(s, bases[s.Session], since); ok {
			report.add(f)
		}
	}
}

// compareState compares the hash chain of a session with its state in an anchor.
func (t *Target) compareState(s anchor.State, base, since string) (f Finding, differs bool) {
	f = Finding{Severity: Fault, Kind: History, Session: s.Session, Hint: "compare the home with a backup from that time"}
	if base == "" && t.purged(s.Session) {
		f.Severity, f.Hint = Info, ""
		f.Message = fmt.Sprintf("session %s of the anchor was purged after %s", s.Session, since)
		return f, true
	}
	if base == "" {
		f.Message = fmt.Sprintf("session %s existed at %s and is missing", s.Session, since)
		return f, true
	}
	f.File = t.relative(base)
	link, ok, err := chain.At(t.fs, base, s.End)
	switch {
	case err != nil:
		f.Message = fmt.Sprintf("its hash chain cannot be read: %v", err)
	case !ok:
		f.Message = fmt.Sprintf("its hash chain does not reach byte %d, where it was at %s: it was cut, replaced or deleted", s.End, since)
	case link.Sum != s.Sum:
		f.Message = "its lines from before " + since + " are not those of the anchor: the transcript and its hash chain were replaced"
	default:
		return f, false
	}
	return f, true
}

func (t *Target) relative(path string) string {
	if !t.Home {
		return path
	}
	return relative(t.Root, path)
}
