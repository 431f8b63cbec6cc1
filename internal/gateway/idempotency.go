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
	"firn.dev/store"
	"firn.dev/wire"
)

// A request that has a name (its Idempotency-Key) leaves it in the log, as a hash on
// the entries that it adds. So whoever gets the request again, this gateway or the
// next one, finds what it did, however it ended: after a failed sync the client is
// told that the outcome is unknown, and asks again until it is known.

// requestField is the extra field of entries that names the request which added them.
const requestField = "request"

// request is the name of a request, and what tells its body apart from others.
type request struct{ name, body string }

type requestMark struct{}

// WithRequest returns the context of a request that has a name. Name must differ
// for different senders, operations and keys, body for different contents.
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

// field is the request as entries have it.
func (r request) field() firn.Field { return firn.Field{Name: requestField, Value: toJSON(r.String())} }

func (r request) String() string { return r.name + "." + r.body }

// RequestName returns what tells a request that has a name apart from all others;
// empty if it has none.
func RequestName(ctx context.Context) string {
	if r, ok := requestOf(ctx); ok {
		return r.String()
	}
	return ""
}

// newID makes the id of a session. For a request that has a name it is always the
// same, so that the session is found if the request comes again.
func newID(ctx context.Context) firn.ID {
	r, ok := requestOf(ctx)
	if !ok {
		return firn.NewID()
	}
	return r.id("session")
}

// id derives the id of a session that the request makes.
func (r request) id(what string) firn.ID {
	sum := sha256.Sum256([]byte(what + " " + r.String()))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // a UUID of version 8
	h := hex.EncodeToString(b)
	return firn.ID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// errOtherRequest says that a name was used for something else.
func errOtherRequest() error {
	return &wire.Problem{Kind: wire.Invalid, Message: "another request had that Idempotency-Key", Hint: "use a new one for each"}
}

// addedBy finds the entries that a request has added before, oldest first.
func (g *Gateway) addedBy(ctx context.Context, id firn.ID, r request) (ids []firn.EntryID, from, end firn.Pos, err error) {
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

// recordsBy yields the records that a request has added before, latest first. It
// reads what was appended in the last week.
func (g *Gateway) recordsBy(ctx context.Context, id firn.ID, r request) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		since := g.now().Add(-store.Remembered)
		for rec, err := range store.Recent(ctx, g.Store, id, store.End, since) {
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

// addedFor returns the request that a record says it was added by.
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

// appendOnce appends the entries of a request that has a name. What it added before,
// all of them or the first few, is made sure of and not added again.
func (g *Gateway) appendOnce(ctx context.Context, r request, id firn.ID, expect firn.Pos, entries []firn.Entry) (wire.Appended, error) {
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
	added, err := g.appendAll(ctx, id, expect, rest)
	if err != nil {
		return wire.Appended{}, err
	}
	return wire.Appended{IDs: append(ids, added.IDs...), End: added.End}, nil
}

// begunBefore turns the conflict of a request that has a name, and that began its
// session before, into success: what is there is made sure of.
func (g *Gateway) confirmCreated(ctx context.Context, id firn.ID, err error) error {
	if _, ok := requestOf(ctx); !ok || !errors.Is(err, firn.ErrConflict) {
		return err
	}
	return store.Confirm(ctx, g.Store, id, store.Start)
}
