package api_test

import (
	"context"

	"firn.dev/wire"
)

// The notebook of the fake, which records its calls.

func (f *fake) Notes(_ context.Context, at wire.MemoryPlace) ([]wire.Note, error) {
	return []wire.Note{{Scope: "agent", Name: "tea"}}, f.note("Notes %+v", at)
}

func (f *fake) Note(_ context.Context, at wire.MemoryPlace, ref string) (wire.Note, error) {
	return wire.Note{Name: ref}, f.note("Note %+v %s", at, ref)
}

func (f *fake) Recall(_ context.Context, at wire.MemoryPlace, words string, limit int) ([]wire.Recalled, error) {
	return nil, f.note("Recall %+v %s %d", at, words, limit)
}

func (f *fake) Remember(_ context.Context, at wire.MemoryPlace, n wire.NewNote) (wire.Remembered, error) {
	return wire.Remembered{}, f.note("Remember %+v %s", at, n.Text)
}

func (f *fake) EditNote(_ context.Context, at wire.MemoryPlace, ref string, t wire.NoteText) (wire.Remembered, error) {
	return wire.Remembered{}, f.note("EditNote %+v %s %s", at, ref, t.Text)
}

func (f *fake) Forget(_ context.Context, at wire.MemoryPlace, ref string) (wire.MemoryChange, error) {
	return wire.MemoryChange{}, f.note("Forget %+v %s", at, ref)
}

func (f *fake) ClearMemory(_ context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	return nil, f.note("ClearMemory %+v", at)
}

func (f *fake) Dream(_ context.Context, at wire.MemoryPlace, o wire.DreamOrder) ([]wire.Dream, error) {
	return nil, f.note("Dream %+v %+v", at, o)
}

func (f *fake) MemoryChanges(_ context.Context, at wire.MemoryPlace) ([]wire.MemoryChange, error) {
	return nil, f.note("MemoryChanges %+v", at)
}

func (f *fake) UndoMemory(_ context.Context, at wire.MemoryPlace, id string, u wire.UndoMemory) (wire.MemoryChange, error) {
	return wire.MemoryChange{}, f.note("UndoMemory %+v %s %v", at, id, u.Edits)
}
