package gateway

import (
	"context"
	"fmt"

	"firn"
	"firn/internal/view"
	"firn/store"
	"firn/wire"
)

// Lists read the beginning and the end of a transcript. Tags that were put on a
// session long ago are in neither, or others that were taken off since are. The
// end of each turn tells them, beside its counts; what is appended without a turn
// does not, so they are told again when much was said since: [Gateway.tagged]
// remembers them, and [tagKeeper.keep] writes them down.

// tagKeeper knows the tags that a session had before something is added to it.
type tagKeeper struct {
	g    *Gateway
	id   firn.ID
	tags string
	end  firn.Pos
}

// tagged remembers the tags of a session. One that cannot be looked at has none,
// nor one in a store that has no quick look at a session: it forgets nothing.
func (g *Gateway) tagged(ctx context.Context, id firn.ID) tagKeeper {
	if _, ok := store.As[view.Inspector](g.Store); !ok {
		return tagKeeper{}
	}
	info, err := g.Info(ctx, id)
	if err != nil || info.Source != "" { // a mirror is told by its tool
		return tagKeeper{}
	}
	return tagKeeper{g: g, id: id, tags: info.Tags, end: info.End}
}

// keep tells the tags again if a list would find others now, and nobody has
// changed them meanwhile. It returns the end of the session then, else zero.
// That it fails does not undo what was added, and is only reported.
func (k tagKeeper) keep(ctx context.Context) firn.Pos {
	if k.g == nil {
		return 0
	}
	end, err := k.retell(ctx)
	if err != nil {
		k.g.Log.Warn("tags may be missing in lists", "session", k.id, "error", err)
	}
	return end
}

func (k tagKeeper) retell(ctx context.Context) (firn.Pos, error) {
	info, err := k.g.Info(ctx, k.id)
	if err != nil || info.Tags == k.tags || info.End == k.end {
		return 0, err
	}
	for rec, err := range k.g.Store.Read(ctx, k.id, k.end) {
		if err != nil {
			return 0, fmt.Errorf("look whether the tags of session %s were changed: %w", k.id, err)
		}
		if rec.Gap != nil || rec.Glance.Kind != firn.KindCustom {
			continue
		}
		if e, err := rec.Entry(); err == nil {
			if c, ok := e.Body.(*firn.Custom); ok && c.Type == firn.TagsType {
				return 0, nil
			}
		}
	}
	entry, err := store.NewTags(store.SplitTags(k.tags))
	var end firn.Pos
	if err == nil {
		end, err = k.g.Store.Append(ctx, k.id, store.Any, entry)
	}
	if err != nil {
		return 0, fmt.Errorf("tell the tags of session %s again: %w", k.id, err)
	}
	return end, nil
}

// longestWaiting bounds what is told of a message that waits, in bytes.
const longestWaiting = 400

// waitingIn are the messages that wait in a session, the next one first. What
// goes on with what was not answered says nothing, and is not among them.
func (g *Gateway) waitingIn(id firn.ID) []wire.Waiting {
	l := g.laneOf(id)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []wire.Waiting
	for _, t := range l.queue {
		if t.waited && !t.onward {
			all = append(all, wire.Waiting{ID: t.ID, Text: firn.CutText(t.Text, longestWaiting), Sender: t.Sender})
		}
	}
	return all
}
