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
	undo := undoOf(&was, &p)
	if overrides(&p) {
		path, err := g.Path(ctx, id)
		if err != nil {
			return wire.Patch{}, err
		}
		undoOverrides(&undo, path.Chosen, &p)
	}
	_, err = g.Patch(ctx, id, p)
	return undo, err
}

// overrides reports whether a patch changes settings that a session may override.
func overrides(p *wire.Patch) bool {
	return p.Model != nil || p.Thinking != nil || p.Verbose != nil || p.Auth != nil || p.Send != nil
}

// undoOverrides adds to undo the members that restore the overridden settings of a session
// changed by p. Those that were not set for the session return to the default.
func undoOverrides(undo *wire.Patch, chosen firn.State, p *wire.Patch) {
	model := ""
	if chosen.Model != "" {
		model = chosen.Provider + "/" + chosen.Model
	}
	for _, o := range []struct {
		change *string
		undo   **string
		was    string
	}{
		{p.Model, &undo.Model, model},
		{p.Thinking, &undo.Thinking, chosen.ThinkingLevel},
		{p.Verbose, &undo.Verbose, chosen.Verbose},
		{p.Auth, &undo.Auth, chosen.Auth},
		{p.Send, &undo.Send, chosen.Send},
	} {
		if o.change != nil {
			was := cmp.Or(o.was, wire.Default)
			*o.undo = &was
		}
	}
}

// undoOf returns the patch that restores the title, tags and marks of a session changed by
// p.
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
	return undo
}
