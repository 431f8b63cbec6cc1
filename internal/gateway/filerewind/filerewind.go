// Package filerewind gives files the state that they had at an entry of a session, and
// finds the tool call that wrote a line.
package filerewind

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/linediff"
	"firn.dev/internal/disk/filehistory"
	"firn.dev/store"
	"firn.dev/wire"
)

// Disk reads and restores files by absolute path.
type Disk interface {
	// Read returns the state of a file and its content. The content of a very large file
	// is nil.
	Read(path string) (filehistory.State, []byte, error)
	// Restore gives a file a state. A state that does not exist removes the file.
	Restore(path string, s filehistory.State, content []byte) error
}

// Git knows the commits of files.
type Git interface {
	// Renamed returns the paths that a file had in earlier commits.
	Renamed(path string) []string
	// Commits returns the commits of the lines of a file, by line number.
	Commits(path string) map[int]wire.BlamedCommit
}

// Log reads the entries of sessions.
type Log interface {
	// ReadBack yields the records before a position, newest first.
	ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error]
}

// Rewinder rewinds the files that the tool calls of sessions changed. The zero value has no
// history.
type Rewinder struct {
	Store   Log
	History *filehistory.History
	Disk    Disk
	// Git may be nil.
	Git Git
}

// Rewind gives files the state of the entry to. It is called with resolved entries; from is
// the entry whose state the files have. A file that was changed by something else is left
// alone unless r.Force is set. The contents that files have now are kept first.
func (r *Rewinder) Rewind(ctx context.Context, id firn.ID, from, to firn.EntryID, o wire.FileRewind) (wire.FilesRewound, error) {
	out := wire.FilesRewound{Session: id, From: from, To: to, Plan: o.Plan, Steps: []wire.FileStep{}}
	if to == firn.Root {
		out.To = ""
	}
	if r.History == nil {
		return out, nil
	}
	all, err := r.History.Changes(id)
	if err != nil {
		return out, err
	}
	back, forward, err := r.between(ctx, id, from, to)
	if err != nil {
		return out, err
	}
	out.From = back.end
	m := move{id: id, from: back.end, to: forward.end, undone: changesOf(all, back.entries), redone: changesOf(all, forward.entries), all: all}
	if out.Steps, err = r.apply(ctx, m, o); err != nil {
		return out, err
	}
	addElsewhere(&out, all, back, forward)
	return out, nil
}

// Changes returns what a session did to files up to an entry: for each file the difference
// between its first and its last recorded state on the branch.
func (r *Rewinder) Changes(ctx context.Context, id firn.ID, head firn.EntryID, diff bool) ([]wire.FileStep, error) {
	steps := []wire.FileStep{}
	if r.History == nil {
		return steps, nil
	}
	all, err := r.History.Changes(id)
	if err != nil || len(all) == 0 {
		return steps, err
	}
	branch, _, err := r.between(ctx, id, head, firn.Root)
	if err != nil {
		return steps, err
	}
	return r.describeChanges(id, changesOf(all, branch.entries), diff), nil
}

// describeChanges returns the difference between the first and the last state of each file.
func (r *Rewinder) describeChanges(id firn.ID, changes []filehistory.Change, diff bool) []wire.FileStep {
	steps := []wire.FileStep{}
	first, last := make(map[string]filehistory.State), make(map[string]filehistory.State)
	var paths []string
	for _, c := range changes {
		if _, ok := first[c.Path]; !ok {
			first[c.Path] = c.Before
			paths = append(paths, c.Path)
		}
		if c.After != nil {
			last[c.Path] = *c.After
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		after, ok := last[path]
		if !ok || after.Same(first[path]) {
			continue
		}
		s := filehistory.Step{Path: path, Target: after, Current: first[path]}
		if s.Current.Omitted {
			s.Problem = filehistory.NotStored
		}
		steps = append(steps, r.describe(id, s, diff))
	}
	return steps
}

// Blame returns the lines of a file with the tool calls that wrote them.
func (r *Rewinder) Blame(path string) (wire.Blame, error) {
	out := wire.Blame{Path: path, Lines: []wire.BlamedLine{}}
	state, content, err := r.Disk.Read(path)
	if err != nil {
		return out, err
	}
	if !state.Exists {
		return out, fmt.Errorf("file %s %w", path, firn.ErrNotFound)
	}
	if content == nil && state.Size > 0 || binary(content) {
		return out, fmt.Errorf("%s is not a text file: %w", path, firn.ErrUnsupported)
	}
	changes, err := r.changesOfFile(path)
	if err != nil {
		return out, err
	}
	stored := func(c filehistory.SessionChange, s filehistory.State) (string, bool) {
		text, err := r.content(c.Session, s)
		return string(text), err == nil
	}
	origins := filehistory.Blame(string(content), changes, stored)
	commits := r.commitsOf(path)
	for i, line := range linediff.Lines(string(content)) {
		b := wire.BlamedLine{N: i + 1, Text: trimNewline(line)}
		if c := origins[i].Change; c != nil {
			b.Session, b.Entry, b.Call, b.Tool, b.Time = origins[i].Session, c.Entry, c.Call, c.Tool, c.Time
		} else if c, ok := commits[i+1]; ok {
			b.Commit = &c
		}
		out.Lines = append(out.Lines, b)
	}
	return out, nil
}

func trimNewline(line string) string {
	return string(bytes.TrimRight([]byte(line), "\r\n"))
}

// commitsOf returns the commits of the lines of a file; nil if they are not known.
func (r *Rewinder) commitsOf(path string) map[int]wire.BlamedCommit {
	if r.Git == nil {
		return nil
	}
	return r.Git.Commits(path)
}

// changesOfFile returns the changes of a file by all sessions, also of its earlier paths,
// oldest first.
func (r *Rewinder) changesOfFile(path string) ([]filehistory.SessionChange, error) {
	changes, err := r.changesOfPath(path)
	if err != nil || r.Git == nil {
		return changes, err
	}
	for _, earlier := range r.Git.Renamed(path) {
		more, err := r.changesOfPath(earlier)
		if err != nil {
			return nil, err
		}
		changes = append(more, changes...)
	}
	slices.SortStableFunc(changes, func(a, b filehistory.SessionChange) int { return a.Time.Compare(b.Time) })
	return changes, nil
}

// changesOfPath returns the changes of one file by all sessions, oldest first.
func (r *Rewinder) changesOfPath(path string) ([]filehistory.SessionChange, error) {
	if r.History == nil {
		return nil, nil
	}
	ids, err := r.History.Sessions(path)
	if err != nil {
		return nil, err
	}
	var changes []filehistory.SessionChange
	for _, id := range ids {
		all, err := r.History.Changes(id)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if c.Path == path {
				changes = append(changes, filehistory.SessionChange{Session: id, Change: c})
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b filehistory.SessionChange) int { return a.Time.Compare(b.Time) })
	return changes, nil
}

// Remove removes the history of a session that was erased, or of some of its entries.
func (r *Rewinder) Remove(id firn.ID, entries ...firn.EntryID) error {
	if r == nil || r.History == nil {
		return nil
	}
	return r.History.Remove(id, entries...)
}

// Sizes returns the bytes on disk of each session's history.
func (r *Rewinder) Sizes() (map[firn.ID]int64, error) {
	if r == nil || r.History == nil {
		return nil, nil
	}
	return r.History.Sizes()
}

// changesOf returns the changes made by the tool calls of a branch, oldest first.
func changesOf(all []filehistory.Change, entries map[firn.EntryID]bool) []filehistory.Change {
	var own []filehistory.Change
	for _, c := range all {
		if entries[c.Entry] {
			own = append(own, c)
		}
	}
	return own
}

// rewindTool is the tool name of changes by a rewind. Their call is the move.
const rewindTool = "rewind"

// moveName returns the name of a rewind from an entry to another.
func moveName(from, to firn.EntryID) string { return string(from) + " " + string(to) }

// takenBack returns changes that take back the rewind with the given name, for the files
// that still have the state that it gave them. So a rewind and its opposite leave also
// those contents as they were that no tool wrote.
func takenBack(all []filehistory.Change, current map[string]filehistory.State, move string) []filehistory.Change {
	var changes []filehistory.Change
	for path, now := range current {
		for _, c := range slices.Backward(all) {
			if c.Path != path {
				continue
			}
			if c.Tool == rewindTool && c.Call == move && c.After != nil && c.After.Same(now) {
				changes = append(changes, filehistory.Change{Path: path, After: &c.Before})
			}
			break
		}
	}
	return changes
}

func (r *Rewinder) currentStates(changes []filehistory.Change) (map[string]filehistory.State, error) {
	current := make(map[string]filehistory.State)
	for _, c := range changes {
		if _, ok := current[c.Path]; ok {
			continue
		}
		s, _, err := r.Disk.Read(c.Path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", c.Path, err)
		}
		current[c.Path] = s
	}
	return current, nil
}

// restore gives a file its target state. Its current content is kept first, as a change by
// a tool named rewind.
func (r *Rewinder) restore(id firn.ID, move string, s filehistory.Step) error {
	content, err := r.content(id, s.Target)
	if err != nil {
		return err
	}
	now, have, err := r.Disk.Read(s.Path)
	if err != nil {
		return err
	}
	if !now.Same(s.Current) {
		return fmt.Errorf("the file is changing: %w", firn.ErrConflict)
	}
	c := filehistory.Change{Tool: rewindTool, Call: move, Path: s.Path, Before: now}
	if _, err := r.History.Before(id, c, have); err != nil {
		return err
	}
	if err := r.Disk.Restore(s.Path, s.Target, content); err != nil {
		return err
	}
	c.After = &s.Target
	return r.History.After(id, c, content)
}

// content returns the content of a state; nil if there was no file.
func (r *Rewinder) content(id firn.ID, s filehistory.State) ([]byte, error) {
	if !s.Exists {
		return nil, nil
	}
	if s.Omitted {
		return nil, fmt.Errorf("content to store %w", firn.ErrTooLarge)
	}
	content, err := r.History.Content(id, s.Hash)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("stored content %w", firn.ErrNotFound)
	}
	return content, err
}

// describe describes a step, with the numbers of lines and the diff.
func (r *Rewinder) describe(id firn.ID, s filehistory.Step, diff bool) wire.FileStep {
	step := wire.FileStep{Path: s.Path, Action: wire.FileChanged, Problem: string(s.Problem)}
	switch {
	case !s.Current.Exists:
		step.Action = wire.FileCreated
	case !s.Target.Exists:
		step.Action = wire.FileDeleted
	}
	after, err := r.content(id, s.Target)
	before, berr := r.content(id, s.Current)
	if berr != nil { // not in the history
		var now filehistory.State
		if now, before, berr = r.Disk.Read(s.Path); berr == nil && !now.Same(s.Current) {
			berr = firn.ErrConflict
		}
	}
	if err = cmp.Or(err, berr); err != nil {
		return step
	}
	if step.Binary = binary(before) || binary(after); step.Binary {
		return step
	}
	step.Added, step.Removed = linediff.Count(string(before), string(after))
	if diff {
		step.Diff = linediff.Unified(s.Path, s.Path, string(before), string(after))
	}
	return step
}

// binary reports whether a content is not text.
func binary(content []byte) bool {
	head := content[:min(len(content), 8<<10)]
	return bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(content)
}
