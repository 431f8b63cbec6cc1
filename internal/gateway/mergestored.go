package gateway

import (
	"context"
	"errors"
	"io"

	"firn.dev"
	"firn.dev/internal/find/redact"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/gateway/merge"
	"firn.dev/store"
	"firn.dev/wire"
)

// MergeStored adds the lines in the body, which come from the same session on another
// machine, to a session. It fails while a turn is running, and with a conflict if the session
// does not end where the caller expects.
func (g *sessionEditor) MergeStored(ctx context.Context, id firn.ID, m wire.Merge, body io.Reader) (wire.Merged, error) {
	if err := id.Check(); err != nil {
		return wire.Merged{}, err
	}
	if g.Source == nil {
		return wire.Merged{}, notCopied()
	}
	leave, err := g.lanes.hold(ctx, id, "sync")
	if err != nil {
		return wire.Merged{}, err
	}
	defer leave()
	r, err := merge.Run(redact.Verbatim(ctx), g.Store, id, m.Expect, m.Head, convert.Lines(body, g.MaxLine))
	var conflict *store.Conflict
	if errors.As(err, &conflict) {
		err = &wire.Problem{Kind: wire.Conflict, Message: conflict.Error(), End: conflict.End, Hint: "the session has new entries: sync again"}
	}
	return wire.Merged{Added: r.Added, End: r.End}, err
}
