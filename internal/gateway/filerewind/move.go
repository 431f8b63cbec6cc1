package filerewind

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/filehistory"
	"firn.dev/wire"
)

// move is a rewind from an entry to another: changes to take back and changes to apply.
type move struct {
	id                  firn.ID
	from, to            firn.EntryID
	undone, redone, all []filehistory.Change
}

// apply carries out a move, or plans it.
func (r *Rewinder) apply(ctx context.Context, m move, o wire.FileRewind) ([]wire.FileStep, error) {
	steps := []wire.FileStep{}
	current, err := r.currentStates(append(slices.Clone(m.undone), m.redone...))
	if err != nil {
		return steps, err
	}
	redone := append(m.redone, takenBack(m.all, current, moveName(m.to, m.from))...)
	for _, s := range filehistory.Plan(m.undone, redone, m.all, current) {
		if err := ctx.Err(); err != nil {
			return steps, err
		}
		step := r.describe(m.id, s, o.Diff)
		if step.Problem == string(filehistory.Changed) && o.Force {
			step.Problem = ""
		}
		if step.Problem == "" && !o.Plan {
			if err := r.restore(m.id, moveName(m.from, m.to), s); err != nil {
				step.Problem = err.Error()
			} else {
				step.Done = true
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// RewindCalls rewinds the files that tool calls changed on this machine, for a session of a
// gateway elsewhere. Done is the gateway's result, which names the entries of the calls; it is
// returned with the steps of the files that are here.
func (r *Rewinder) RewindCalls(ctx context.Context, done wire.FilesRewound, o wire.FileRewind) (wire.FilesRewound, error) {
	all, err := r.History.Changes(done.Session)
	if err != nil {
		return done, err
	}
	m := move{
		id: done.Session, from: done.From, to: cmp.Or(done.To, firn.Root), all: all,
		undone: changesOf(all, setOf(done.Undone)), redone: changesOf(all, setOf(done.Redone)),
	}
	steps, err := r.apply(ctx, m, o)
	here := make(map[string]bool)
	for _, c := range slices.Concat(m.undone, m.redone) {
		here[c.Path] = true
	}
	done.Steps = append(slices.DeleteFunc(done.Steps, func(s wire.FileStep) bool {
		return s.Problem == wire.FileElsewhere && here[s.Path]
	}), steps...)
	return done, err
}

// ChangesOfCalls returns what the calls of some answers did to files on this machine.
func (r *Rewinder) ChangesOfCalls(id firn.ID, answers []firn.EntryID, diff bool) ([]wire.FileStep, error) {
	all, err := r.History.Changes(id)
	return r.describeChanges(id, changesOf(all, setOf(answers)), diff), err
}

func setOf(entries []firn.EntryID) map[firn.EntryID]bool {
	set := make(map[firn.EntryID]bool, len(entries))
	for _, e := range entries {
		set[e] = true
	}
	return set
}

// namedChange is a file change that the result of a tool call names.
type namedChange struct {
	answer     firn.EntryID
	call, path string
}

// read notes the file changes that an entry of the branch names.
func (b *branch) read(rec *firn.Record) {
	line := rec.Line()
	if rec.Glance.Kind != firn.KindMessage || len(b.unanswered) == 0 && line != nil && !bytes.Contains(line, []byte(`"files"`)) {
		return
	}
	e, err := rec.Entry()
	m, ok := e.Body.(*firn.Message)
	if err != nil || !ok {
		return
	}
	switch m.Role {
	case firn.RoleToolResult:
		b.unanswered = append(b.unanswered, changesIn(m)...)
	case firn.RoleAssistant:
		for _, c := range b.unanswered {
			c.answer = e.ID
			b.results = append(b.results, c)
		}
		b.unanswered = nil
	}
}

// changesIn returns the file changes that a message with results names.
func changesIn(m *firn.Message) []namedChange {
	var changes []namedChange
	for _, p := range m.Parts {
		result, ok := p.(firn.ToolResult)
		if !ok {
			continue
		}
		var details struct {
			Files []struct {
				Path string `json:"path"`
			} `json:"files"`
		}
		_ = json.Unmarshal(result.Details, &details) // details of other programs name no files
		for _, f := range details.Files {
			changes = append(changes, namedChange{call: result.CallID, path: f.Path})
		}
	}
	return changes
}

// addElsewhere adds the files that were changed by tools of a terminal with another home.
func addElsewhere(out *wire.FilesRewound, all []filehistory.Change, back, forward *branch) {
	known := make(map[namedChange]bool, len(all))
	for _, c := range all {
		known[namedChange{c.Entry, c.Call, c.Path}] = true
	}
	there := make(map[string]bool)
	collect := func(b *branch) (entries []firn.EntryID) {
		for _, c := range b.results {
			if known[c] {
				continue
			}
			there[c.path] = true
			if !slices.Contains(entries, c.answer) {
				entries = append(entries, c.answer)
			}
		}
		return entries
	}
	out.Undone, out.Redone = collect(back), collect(forward)
	for _, path := range slices.Sorted(maps.Keys(there)) {
		out.Steps = append(out.Steps, wire.FileStep{Path: path, Action: wire.FileChanged, Problem: wire.FileElsewhere})
	}
}
