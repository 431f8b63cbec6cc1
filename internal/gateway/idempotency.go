package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/find/lookback"
	"firn.dev/store"
	"firn.dev/wire"
)

// A request with an Idempotency-Key leaves a hash of it in the entries that it appends. So
// this gateway or a later one recognizes a retry and finds its effects, however the request
// ended: after a failed sync the client learns that the outcome is unknown and retries
// until it is known.

// requestField is the extra field that identifies the request that appended an entry.
const requestField = "request"

// request is a named request: the hashes of its name and its body.
type request struct{ name, body string }

type requestMark struct{}

// WithRequest returns the context of a named request. name must differ between senders,
// operations and keys, body between contents.
func WithRequest(ctx context.Context, name, body string) context.Context {
	short := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:12])
	}
	return context.WithValue(ctx, requestMark{}, request{short(name), short(body)})
}

func requestOf(ctx context.Context) (request, bool) {
	r, ok := ctx.Value(requestMark{}).(request)
	return r, ok
}

// field returns the extra field of the request's entries.
func (r request) field() firn.Field { return firn.Field{Name: requestField, Value: toJSON(r.String())} }

func (r request) String() string { return r.name + "." + r.body }

// RequestName returns the unique name of a request; empty if it has none.
func RequestName(ctx context.Context) string {
	if r, ok := requestOf(ctx); ok {
		return r.String()
	}
	return ""
}

// newID returns a new session ID. For a named request it is always the same, so that a
// retry finds the session.
func newID(ctx context.Context) firn.ID {
	r, ok := requestOf(ctx)
	if !ok {
		return firn.NewID()
	}
	return r.id("session")
}

// id derives the ID of a session that the request creates.
func (r request) id(what string) firn.ID {
	sum := sha256.Sum256([]byte(what + " " + r.String()))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // UUID version 8
	h := hex.EncodeToString(b)
	return firn.ID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// errOtherRequest returns the problem for a reused Idempotency-Key.
func errOtherRequest() error {
	return &wire.Problem{Kind: wire.Invalid, Message: "the Idempotency-Key was used by another request", Hint: "use a new key for each request"}
}

// addedBy returns the entries that a request appended before, oldest first.
func (g *messageHistory) addedBy(ctx context.Context, id firn.ID, r request) (ids []firn.EntryID, from, end firn.Pos, err error) {
	for rec, err := range g.recordsBy(ctx, id, r) {
		if err != nil {
			return nil, 0, 0, err
		}
		if ids = append(ids, rec.Glance.ID); end == 0 {
			end = rec.Next
		}
		from = rec.At
	}
	slices.Reverse(ids)
	return ids, from, end, nil
}

// recordsBy yields the records that a request appended before, newest first. It reads the
// entries of the last week.
func (g *messageHistory) recordsBy(ctx context.Context, id firn.ID, r request) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		since := g.now().Add(-lookback.DedupPeriod)
		for rec, err := range lookback.Records(ctx, g.Store, id, store.End, since) {
			if err != nil {
				yield(firn.Record{}, err)
				return
			}
			if line := rec.Line(); rec.Gap != nil || line != nil && !bytes.Contains(line, []byte(r.name)) {
				continue
			}
			name, body, ok := addedFor(&rec)
			if !ok || name != r.name {
				continue
			}
			if body != r.body {
				yield(firn.Record{}, errOtherRequest())
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// addedFor returns the request recorded in a record.
func addedFor(rec *firn.Record) (name, body string, ok bool) {
	entry, err := rec.Entry()
	if err != nil {
		return "", "", false
	}
	var value string
	if json.Unmarshal(entry.Extra.Get(requestField), &value) != nil {
		return "", "", false
	}
	return strings.Cut(value, ".")
}

// appendOnce appends the entries of a named request. Entries that it appended before, all
// or a prefix, are confirmed to be durable and not appended again.
func (g *messageHistory) appendOnce(ctx context.Context, r request, id firn.ID, expect firn.Pos, entries []firn.Entry) (wire.Appended, error) {
	defer g.locks.lock("request " + string(id) + " " + r.name)()
	ids, from, end, err := g.addedBy(ctx, id, r)
	if err != nil {
		return wire.Appended{}, err
	}
	if len(ids) > 0 {
		if err := store.Confirm(ctx, g.Store, id, from); err != nil {
			return wire.Appended{}, err
		}
		if expect != store.Any {
			expect = end
		}
	}
	out := wire.Appended{IDs: ids, End: end}
	if len(ids) >= len(entries) {
		return out, nil
	}
	rest := slices.Clone(entries[len(ids):])
	for i := range rest {
		rest[i].Extra = append(slices.Clip(rest[i].Extra), r.field())
	}
	added, err := g.editor.appendAll(ctx, id, expect, rest)
	if err != nil {
		return wire.Appended{}, err
	}
	return wire.Appended{IDs: append(ids, added.IDs...), End: added.End, Masked: added.Masked}, nil
}

// confirmCreated turns the conflict of a named request that created its session before into
// success, after confirming that the session is durable.
func (g *messageHistory) confirmCreated(ctx context.Context, id firn.ID, err error) error {
	if _, ok := requestOf(ctx); !ok || !errors.Is(err, firn.ErrConflict) {
		return err
	}
	return store.Confirm(ctx, g.Store, id, store.Start)
}
