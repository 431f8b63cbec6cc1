package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/find/digest"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
)

// BranchJob describes a branch to leave with a summary.
type BranchJob struct {
	Store   store.Store
	Session firn.ID
	// To is the entry to continue from; [firn.Root] means before the first entry.
	To firn.EntryID
	// Model writes the summary; if nil, it is made without a model.
	Model provider.Model
	Settings
	// Window is the size of the window that will receive the summary; zero means the
	// Model's. The window of the summarizer is assumed to be no larger.
	Window int64
	// Hint is the user's instruction for the summary.
	Hint string
	// Counter counts tokens; nil means [window.Chars].
	Counter window.TokenCounter
}

const (
	// maxBranch is the maximum length of a branch summary in tokens, unless a quarter of
	// the window is less.
	maxBranch = 2048
	// branchResult is the length in bytes to which tool results are cut.
	branchResult = 200
)

// SummarizeBranch summarizes the entries between the head and the common ancestor of head
// and target, and appends the summary after the target, which moves the head there. Entries
// that do not fit are left out, oldest first. It fails with ErrNothing if there are no
// entries in between, and with ErrMoved if other entries were appended in the meantime;
// nothing is written then.
func SummarizeBranch(ctx context.Context, j BranchJob) (firn.Entry, error) {
	entry, err := j.run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return firn.Entry{}, fmt.Errorf("summarize a branch of session %s: %w", j.Session, err)
	}
	return entry, nil
}

func (j BranchJob) run(ctx context.Context) (firn.Entry, error) {
	b, err := j.find(ctx)
	if err != nil {
		return firn.Entry{}, err
	}
	if j.Counter == nil {
		j.Counter = window.Chars{}
	}
	s := newSummarizer(j.Model, j.Settings, j.Counter)
	s.session, s.hint = j.Session, j.Hint
	if j.Window > 0 {
		s.info.Window = min(windowSize(s.info.Window), j.Window)
	}
	lines := j.recent(s, b.entries)
	if len(lines) == 0 {
		return firn.Entry{}, fmt.Errorf("no messages between the head and the target: %w", ErrNothing)
	}
	text, err := s.fold(ctx, taskBranch, "", lines, s.output(maxBranch))
	if err != nil {
		return firn.Entry{}, err
	}
	entry, err := j.entry(b, s, text)
	if err != nil {
		return firn.Entry{}, err
	}
	if _, err := j.Store.Append(ctx, j.Session, b.end, entry); errors.Is(err, firn.ErrConflict) {
		return firn.Entry{}, fmt.Errorf("%w: %w", ErrMoved, err)
	} else if err != nil {
		return firn.Entry{}, err
	}
	if entry.Parent == firn.Root {
		entry.Parent = ""
	}
	return entry, nil
}

// branch is the part of the conversation that is left behind.
type branch struct {
	head    firn.EntryID
	end     firn.Pos
	entries []firn.Entry
}

// find reads the visible entries from the head back to the common ancestor, oldest first.
func (j BranchJob) find(ctx context.Context) (branch, error) {
	var tree firn.Tree
	var b branch
	for rec, err := range j.Store.Read(ctx, j.Session, store.Start) {
		if err != nil {
			return b, err
		}
		if b.end = rec.Next; rec.Gap == nil {
			tree.Add(rec.At, rec.Glance)
		}
	}
	to := -1
	if j.To != firn.Root {
		if to = tree.Find(j.To); to < 0 {
			return b, fmt.Errorf("entry %s: %w", j.To, firn.ErrNotFound)
		}
	}
	left, kept := tree.Path(tree.Head()), tree.Path(to)
	shared := 0
	for shared < min(len(left), len(kept)) && left[shared] == kept[shared] {
		shared++
	}
	left = left[shared:]
	if len(left) == 0 {
		return b, fmt.Errorf("the target is the head: %w", ErrNothing)
	}
	b.head = tree.Node(tree.Head()).ID
	return b, j.load(ctx, &b, &tree, left)
}

// load decodes the entries of a branch.
func (j BranchJob) load(ctx context.Context, b *branch, tree *firn.Tree, left []int) error {
	hidden := tree.Hidden()
	want := make(map[firn.Pos]bool, len(left))
	for _, n := range left {
		if node := tree.Node(n); !hidden[node.ID] {
			want[node.At] = true
		}
	}
	for rec, err := range j.Store.Read(ctx, j.Session, tree.Node(left[0]).At) {
		if err != nil {
			return err
		}
		if rec.At >= b.end {
			break
		}
		if rec.Gap != nil || !want[rec.At] {
			continue
		}
		if entry, err := rec.Entry(); err == nil { // unreadable entries were never sent to a model
			b.entries = append(b.entries, entry)
		}
	}
	return nil
}

// recent returns the lines of the latest entries that fit into one prompt.
func (j BranchJob) recent(s *summarizer, entries []firn.Entry) []digest.Line {
	budget := min(s.budget(taskBranch, "", s.output(maxBranch)), windowSize(s.info.Window)-j.reserve(s.info.Window))
	var groups [][]digest.Line
	used := int64(0)
	for i := len(entries) - 1; i >= 0; i-- {
		lines := branchLines(entries[i])
		n := s.counter.CountText(formatLines(lines)) + int64(len(lines))
		// A summary is dense, so it may exceed the budget a little.
		if used+n > budget && used > 0 && !(isSummary(entries[i]) && used < budget*9/10) {
			break
		}
		used += n
		groups = append(groups, lines)
	}
	slices.Reverse(groups)
	return slices.Concat(groups...)
}

// branchLines splits an entry into lines. Tool results are shortened, since they matter
// less than the answers based on them.
func branchLines(e firn.Entry) []digest.Line {
	if c, ok := e.Body.(*firn.Compaction); ok {
		text := "What happened before, in short:\n" + bodyOf(c.Summary)
		return []digest.Line{{Role: firn.RoleUser, Kind: digest.Speech, Text: text}}
	}
	lines := linesOf([]firn.Entry{e})
	for i := range lines {
		if lines[i].Kind == digest.Result {
			lines[i].Text = cutMiddle(lines[i].Text, branchResult)
		}
	}
	return lines
}

// isSummary reports whether an entry is itself a summary.
func isSummary(e firn.Entry) bool {
	switch e.Body.(type) {
	case *firn.Compaction, *firn.BranchSummary:
		return true
	}
	return false
}

// entry returns the entry that represents the branch.
func (j BranchJob) entry(b branch, s *summarizer, text string) (firn.Entry, error) {
	read, modified := digest.Files(linesOf(b.entries))
	for i := range b.entries {
		d := branchDetails(&b.entries[i])
		read, modified = append(read, d.ReadFiles...), append(modified, d.ModifiedFiles...)
	}
	read, modified = mergeFiles(read, modified)
	details, err := marshal(Details{
		ReadFiles: emptyNotNil(read), ModifiedFiles: emptyNotNil(modified),
		Strategy: s.strategy(), Model: s.modelName(), Hint: j.Hint,
		Chunks: s.chunks, Usage: usageOf(s.usage),
	})
	if err != nil {
		return firn.Entry{}, err
	}
	entry := firn.NewEntry(&firn.BranchSummary{
		From: b.head, Summary: sections{read: read, modified: modified}.compose(text, min(maxFiles, int(windowSize(s.info.Window)/400))), Details: details,
	})
	entry.ID, entry.Parent = firn.NewEntryIDAfter(b.head), j.To
	return entry, nil
}

// branchDetails returns the details of a summary within a branch.
func branchDetails(e *firn.Entry) Details {
	switch b := e.Body.(type) {
	case *firn.Compaction:
		return DetailsOf(b)
	case *firn.BranchSummary:
		return DetailsOf(&firn.Compaction{Details: b.Details})
	}
	return Details{}
}
