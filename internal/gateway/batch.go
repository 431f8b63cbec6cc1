package gateway

import (
	"cmp"
	"context"
	"slices"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// MaxBatch is the maximum number of sessions in a batch.
const MaxBatch = 500

// Batch applies the same change to several sessions, one after the other, and returns a
// result for each. A failure does not affect the other sessions. An invalid batch is
// rejected before any change.
func (g *sessionEditor) Batch(ctx context.Context, b wire.Batch) ([]wire.BatchResult, error) {
	if len(b.IDs) == 0 || len(b.IDs) > MaxBatch {
		return nil, Invalid("a batch must have 1 to %d sessions, not %d", MaxBatch, len(b.IDs))
	}
	if b.Patch == (wire.Patch{}) && len(b.AddTags)+len(b.DropTags) == 0 {
		return nil, Invalid("the batch changes nothing")
	}
	if b.Patch.Tags != nil && len(b.AddTags)+len(b.DropTags) > 0 {
		return nil, Invalid("give either tags, or add and drop, not both")
	}
	if _, err := patchEntries(&b.Patch); err != nil {
		return nil, err
	}
	if _, err := store.NewTags(b.AddTags); err != nil {
		return nil, &wire.Problem{Kind: wire.Invalid, Message: err.Error()}
	}
	results := make([]wire.BatchResult, len(b.IDs))
	for i, id := range b.IDs {
		if err := ctx.Err(); err != nil {
			return results[:i], err
		}
		results[i].ID = id
		before, err := g.patchOne(ctx, id, &b)
		if err != nil {
			results[i].Error = ProblemOf(err).Message
			continue
		}
		results[i].Before = &before
	}
	return results, nil
}

// patchOne changes one session of a batch and returns the patch that undoes the change.
func (g *sessionEditor) patchOne(ctx context.Context, id firn.ID, b *wire.Batch) (wire.Patch, error) {
	if err := g.CheckExists(ctx, id); err != nil {
		return wire.Patch{}, err
	}
	was, err := g.reader.session(ctx, id)
	if err != nil {
		return wire.Patch{}, err
	}
	p := b.Patch
	if len(b.AddTags)+len(b.DropTags) > 0 {
		tags := slices.DeleteFunc(append(slices.Clone(was.Tags), b.AddTags...), func(tag string) bool { return slices.Contains(b.DropTags, tag) })
		p.Tags = &tags
	}
	_, err = g.Patch(ctx, id, p)
	return undoOf(&was, &p), err
}

// undoOf returns the patch that restores the fields of a session changed by p.
func undoOf(was *wire.Session, p *wire.Patch) wire.Patch {
	var undo wire.Patch
	if p.Title != nil {
		undo.Title = &was.Title
	}
	if p.Archived != nil {
		undo.Archived = &was.Archived
	}
	if p.Hidden != nil {
		undo.Hidden = &was.Hidden
	}
	if p.Tags != nil {
		tags := append([]string{}, was.Tags...)
		undo.Tags = &tags
	}
	if was.State == nil {
		return undo
	}
	if p.Model != nil && was.State.Provider != "" {
		model := was.State.Provider + "/" + was.State.Model
		undo.Model = &model
	}
	if p.Thinking != nil && was.State.Thinking != "" {
		undo.Thinking = &was.State.Thinking
	}
	if p.Verbose != nil && was.State.Verbose != "" {
		undo.Verbose = &was.State.Verbose
	}
	if p.Auth != nil {
		auth := cmp.Or(was.State.Auth, wire.Default)
		undo.Auth = &auth
	}
	if p.Send != nil {
		send := cmp.Or(was.State.Send, sendInherit)
		undo.Send = &send
	}
	return undo
}
