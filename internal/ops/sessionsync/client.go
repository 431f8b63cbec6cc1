package sessionsync

import (
	"context"
	"io"
	"slices"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/ops/remote"
	"firn.dev/store"
	"firn.dev/wire"
)

// Gateway is the sessions of a gateway, which may be in the same process.
type Gateway struct{ remote.Source }

// NewGateway returns the sessions of the gateway that a client is connected to.
func NewGateway(c *client.Client) Gateway { return Gateway{remote.Source{Client: c}} }

var _ Local = Gateway{}

// End implements [Local].
func (g Gateway) End(ctx context.Context, id firn.ID) (firn.Pos, error) {
	s, err := g.Client.Session(ctx, string(id))
	return s.End, err
}

// Merge implements [Local].
func (g Gateway) Merge(ctx context.Context, id firn.ID, m wire.Merge, lines io.Reader) (wire.Merged, error) {
	return g.Client.Transfer.Merge(ctx, id, m, lines)
}

// Mark implements [Local].
func (g Gateway) Mark(ctx context.Context, now store.Holding, want Marks, erase []firn.EntryID) (*store.Receipt, error) {
	if want.Purged || len(erase) > 0 {
		e := wire.Erase{Reason: "purged on another machine", Sure: now.ID}
		if !want.Purged {
			e.Entries = slices.Clone(erase)
		}
		r, err := g.Client.Purge(ctx, now.ID, e)
		if err != nil {
			return nil, err
		}
		receipt := &store.Receipt{Session: r.Session, Entries: r.Entries, Reason: r.Reason, Begun: r.Begun, Done: r.Done, Bytes: r.Bytes}
		if want.Purged {
			return receipt, nil
		}
		_, err = g.place(ctx, now, want)
		return receipt, err
	}
	return g.place(ctx, now, want)
}

// place archives, removes or restores a session.
func (g Gateway) place(ctx context.Context, now store.Holding, want Marks) (*store.Receipt, error) {
	if now.Removed && (!want.Removed || now.Archived != want.Archived) {
		if _, err := g.Client.Restore(ctx, now.ID); err != nil {
			return nil, err
		}
		now.Removed = false
	}
	if now.Archived != want.Archived {
		if _, err := g.Client.Patch(ctx, now.ID, wire.Patch{Archived: &want.Archived}); err != nil {
			return nil, err
		}
	}
	if want.Removed && !now.Removed {
		if _, err := g.Client.Remove(ctx, now.ID, wire.Remove{Reason: want.Reason, Bin: true}); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
