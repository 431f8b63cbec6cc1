package api_test

import (
	"context"
	"io"
	"iter"

	"firn.dev"
	"firn.dev/wire"
)

// The dataAPI of the fake, which records its calls.

func (f *fake) Course(_ context.Context, id firn.ID, _ string, _ wire.TurnRange) (wire.Course, error) {
	return wire.Course{Session: id, Step: 1, Episodes: []wire.Episode{}}, f.note("Course %s", id)
}

func (f *fake) Compacted(_ context.Context, id firn.ID, name string) (wire.CompactionDetail, error) {
	return wire.CompactionDetail{Session: id, Replaced: []wire.Run{}, Stayed: []wire.Run{}}, f.note("Compacted %s %s", id, name)
}

func (f *fake) Batch(_ context.Context, b wire.Batch) ([]wire.BatchResult, error) {
	results := make([]wire.BatchResult, len(b.IDs))
	for i, id := range b.IDs {
		results[i].ID = id
	}
	return results, f.note("Batch %v", b.IDs)
}

func (f *fake) Tags(context.Context) ([]wire.Tag, error) {
	return []wire.Tag{{Name: "work", Sessions: 2}}, f.note("Tags")
}

func (f *fake) Sources(context.Context) ([]wire.Source, error) {
	return []wire.Source{{Name: "firn"}}, f.note("Sources")
}

func (f *fake) Ops(context.Context) (wire.Ops, error) {
	return wire.Ops{Status: wire.Status{Agents: []wire.Agent{}}}, f.note("Ops")
}

func (f *fake) Verify(context.Context) (wire.Verified, error) {
	return wire.Verified{}, f.note("Verify")
}

func (f *fake) Stored(context.Context) iter.Seq2[wire.StoreLine, error] {
	err := f.note("Stored")
	return func(yield func(wire.StoreLine, error) bool) {
		if err != nil {
			yield(wire.StoreLine{}, err)
			return
		}
		for _, s := range f.sessions {
			if !yield(wire.StoreLine{StoredSession: &wire.StoredSession{ID: s.ID}}, nil) {
				return
			}
		}
	}
}

func (f *fake) MergeStored(_ context.Context, id firn.ID, m wire.Merge, body io.Reader) (wire.Merged, error) {
	lines, err := io.ReadAll(body)
	if err != nil {
		return wire.Merged{}, err
	}
	return wire.Merged{Added: 1, End: 9}, f.note("MergeStored %s %d %s %s", id, m.Expect, m.Head, lines)
}

func (f *fake) WriteLines(_ context.Context, id firn.ID, w io.Writer) error {
	if err := f.note("WriteLines %s", id); err != nil {
		return err
	}
	_, err := io.WriteString(w, "{}\n")
	return err
}
