package api

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/door/token"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// The methods of call in this file implement the operations of the route table by calling
// the gateway. Bound callers see only their own agents and keys: see bound.go.

// maxPage is the maximum number of items per page.
const maxPage = 1000

// none is an empty request body.
type none struct{}

// pageOf returns a complete list as a single page.
func pageOf[T any](items []T) wire.Page[T] {
	if items == nil {
		items = []T{}
	}
	return wire.Page[T]{Items: items, Total: len(items)}
}

// limit returns the requested number of items. Zero selects the gateway's default.
func (c *call) limit() int { return int(min(c.query.number("limit", 1<<62), maxPage)) }

func (c *call) listSessions() (wire.Page[wire.Session], error) {
	q := &c.query
	want := gateway.SessionQuery{
		Agent: q.text("agent"), Key: q.text("key"), Sender: q.text("sender"), State: q.flag("state"), Text: q.text("text"),
		Archived: q.flag("archived"), Hidden: q.flag("hidden"), Live: q.flag("live"), Count: q.flag("count"), Limit: c.limit(), Cursor: q.text("cursor"),
		Directory: q.text("cwd"), Source: q.text("source"), Tag: q.text("tag"), Since: q.moment("since"), Until: q.moment("until"),
	}
	if q.err != nil {
		return wire.Page[wire.Session]{}, q.err
	}
	return c.visibleSessions(want)
}

func (c *call) newSession(n wire.NewSession) (wire.Session, error) {
	n, err := c.boundNew(n)
	if err != nil {
		return wire.Session{}, err
	}
	return c.h.gateway.NewSession(c.r.Context(), n)
}

func (c *call) getSession() (wire.Session, error) {
	s, err := c.h.gateway.Session(c.r.Context(), c.r.PathValue("id"))
	if err = c.visible(s, err); err != nil {
		return wire.Session{}, err
	}
	c.w.Header().Set("ETag", etag(s.End))
	return s, nil
}

func (c *call) patchSession(p wire.Patch) (wire.Session, error) {
	id, err := c.session()
	if err != nil {
		return wire.Session{}, err
	}
	return c.h.gateway.Patch(c.r.Context(), id, p)
}

func (c *call) removeSession() (wire.Removed, error) {
	want := wire.Remove{Reason: c.query.text("reason"), Bin: c.query.flag("bin")}
	if c.query.err != nil {
		return wire.Removed{}, c.query.err
	}
	id, err := c.session()
	if err != nil {
		return wire.Removed{}, err
	}
	return c.h.gateway.Remove(c.r.Context(), id, want)
}

func (c *call) listEntries() (wire.Page[wire.Entry], error) {
	q := &c.query
	want := view.EntryQuery{View: q.text("view"), After: q.pos("after"), Before: q.pos("before"), Back: q.flag("back"), Limit: c.limit(), Cursor: q.text("cursor"), Head: q.text("head")}
	as, err := c.entryFormat()
	if err = errors.Join(q.err, err); err != nil {
		return wire.Page[wire.Entry]{}, err
	}
	want.HTML = as == asHTML
	id, err := c.session()
	if err != nil {
		return wire.Page[wire.Entry]{}, err
	}
	page, err := c.h.gateway.Entries(c.r.Context(), id, want)
	if page.Items == nil {
		page.Items = []wire.Entry{}
	}
	for i := range page.Items {
		setLineFormat(&page.Items[i], as)
	}
	return page, err
}

func (c *call) appendEntries(n wire.NewEntries) (wire.Appended, error) {
	expect, err := ifMatch(c.r)
	if err != nil {
		return wire.Appended{}, err
	}
	id, err := c.session()
	if err != nil {
		return wire.Appended{}, err
	}
	done, err := c.h.gateway.Append(c.r.Context(), id, expect, n)
	if err == nil {
		c.w.Header().Set("ETag", etag(done.End))
	}
	return done, err
}

func etag(end firn.Pos) string { return strconv.Quote(strconv.FormatUint(uint64(end), 10)) }

// ifMatch returns the end position in the If-Match header, or [store.Any] if there is none.
func ifMatch(r *http.Request) (firn.Pos, error) {
	header := strings.TrimSpace(r.Header.Get("If-Match"))
	if header == "" || header == "*" {
		return store.Any, nil
	}
	n, err := strconv.ParseUint(strings.Trim(header, `"`), 10, 63)
	if err != nil || header != etag(firn.Pos(n)) {
		return 0, gateway.Invalid("the If-Match %q is no position in quotes", header)
	}
	return firn.Pos(n), nil
}

func (c *call) getTree() (wire.Tree, error) {
	limit, cursor := c.limit(), c.query.text("cursor")
	id, err := c.session()
	if err = errors.Join(c.query.err, err); err != nil {
		return wire.Tree{}, err
	}
	return c.h.gateway.Tree(c.r.Context(), id, limit, cursor)
}

// listChildren lists the visible sub-agent sessions of a session.
func (c *call) listChildren() (wire.Page[wire.Session], error) {
	id, err := c.session()
	if err != nil {
		return wire.Page[wire.Session]{}, err
	}
	all, err := c.h.gateway.Children(c.r.Context(), id)
	page := wire.Page[wire.Session]{Items: c.filterVisible(all)}
	page.Total = len(page.Items)
	return page, err
}

func (c *call) getDamage() (wire.Page[wire.Damage], error) {
	id, err := c.session()
	if err = errors.Join(c.query.err, err); err != nil {
		return wire.Page[wire.Damage]{}, err
	}
	return c.h.gateway.Damage(c.r.Context(), id)
}

// windowAction responds with a window, or with the provider request made from it.
func windowAction() action {
	return action{out: reflect.TypeFor[wire.Window](), run: (*call).getWindow}
}

func (c *call) getWindow() error {
	id, err := c.session()
	as, file := c.query.text("as"), c.query.flag("file")
	if err = errors.Join(c.query.err, err); err != nil {
		return err
	}
	if file && as == "" {
		return gateway.Invalid("a request is asked for, and not whose: say as, such as anthropic or openai")
	}
	w, err := c.h.gateway.Window(c.r.Context(), id, as)
	if err != nil {
		return err
	}
	if !file {
		return c.reply(http.StatusOK, w)
	}
	// The request is sent byte for byte, to preserve number formats and white space.
	head := c.w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Content-Disposition", `attachment; filename="request.json"`)
	head.Set("Content-Length", strconv.Itoa(len(w.Request)))
	c.deadline()
	c.w.WriteHeader(http.StatusOK)
	c.w.Write(w.Request) // errors mean the client disconnected
	return nil
}

func (c *call) listCompactions() (wire.Page[wire.Compaction], error) {
	id, err := c.session()
	if err != nil {
		return wire.Page[wire.Compaction]{}, err
	}
	all, err := c.h.gateway.Compactions(c.r.Context(), id)
	return pageOf(all), err
}

// onSession calls do with the session in the request path.
func onSession[In, Out any](c *call, in In, do func(context.Context, firn.ID, In) (Out, error)) (Out, error) {
	id, err := c.session()
	if err != nil {
		var out Out
		return out, err
	}
	return do(c.r.Context(), id, in)
}

func (c *call) compact(q wire.Compact) (wire.Compacted, error) {
	return onSession(c, q, c.h.gateway.Compact)
}
func (c *call) rewind(m wire.Move) (wire.Moved, error)    { return onSession(c, m, c.h.gateway.Rewind) }
func (c *call) label(l wire.Label) (wire.Appended, error) { return onSession(c, l, c.h.gateway.Label) }
func (c *call) hide(h wire.Hide) (wire.Appended, error)   { return onSession(c, h, c.h.gateway.Hide) }
func (c *call) show(h wire.Hide) (wire.Appended, error)   { return onSession(c, h, c.h.gateway.Show) }
func (c *call) undoCompaction() (wire.Compaction, error) {
	return onSession(c, c.compaction(), c.h.gateway.Undo)
}
func (c *call) redoCompaction(none) (wire.Compaction, error) {
	return onSession(c, c.compaction(), c.h.gateway.Redo)
}

// compaction returns the ID of the compaction in the request path.
func (c *call) compaction() firn.EntryID { return firn.EntryID(c.r.PathValue("cid")) }

func (c *call) fork(f wire.Fork) (wire.Session, error) {
	f, err := c.boundFork(f)
	if err != nil {
		return wire.Session{}, err
	}
	return onSession(c, f, c.h.gateway.Fork)
}

func (c *call) restoreSession(none) (wire.Session, error) {
	id, err := c.sessionOrBinned()
	if err != nil {
		return wire.Session{}, err
	}
	return c.h.gateway.Restore(c.r.Context(), id)
}

func (c *call) purge(e wire.Erase) (wire.Receipt, error) {
	id, err := c.sessionOrBinned()
	if err != nil {
		return wire.Receipt{}, err
	}
	return c.h.gateway.Purge(c.r.Context(), id, e)
}

func (c *call) turn() error {
	var t wire.Turn
	if err := c.decode(&t, true); err != nil {
		return err
	}
	key, err := idempotency(c.r, string(t.ID))
	if err != nil {
		return err
	}
	t.ID = firn.EntryID(key)
	id, err := c.session()
	if err != nil {
		return err
	}
	if wantsStream(c.r) {
		return c.stream(source{turn: true, numbered: true, events: func(ctx context.Context) iter.Seq2[wire.Event, error] {
			return c.h.gateway.StreamTurn(ctx, id, t)
		}})
	}
	answer, err := c.h.gateway.Turn(c.r.Context(), id, t)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, answer)
}

// idempotency returns the client's ID of a message, from the Idempotency-Key header or the
// body.
func idempotency(r *http.Request, inBody string) (string, error) {
	key := strings.TrimSpace(r.Header.Get("Idempotency-Key"))
	switch {
	case key == "":
		key = inBody
	case inBody != "" && inBody != key:
		return "", gateway.Invalid("the Idempotency-Key and the id of the message are not the same")
	}
	if len(key) > 128 || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", gateway.Invalid("the id of a message must have at most 128 characters, all of them printable ASCII and none a space")
	}
	return key, nil
}

func (c *call) kill(none) (wire.Stopped, error) {
	stopped, err := onSession(c, none{}, func(ctx context.Context, id firn.ID, _ none) (bool, error) { return c.h.gateway.Stop(ctx, id) })
	return wire.Stopped{Stopped: stopped}, err
}

func (c *call) sessionEvents() error {
	after, err := lastEvent(c.r, &c.query)
	if err != nil {
		return err
	}
	html, err := c.html()
	if err != nil {
		return err
	}
	id, err := c.session()
	if err != nil {
		return err
	}
	if err := c.h.gateway.CheckPosition(c.r.Context(), id, after); err != nil {
		return err
	}
	return c.stream(source{numbered: true, after: after, events: func(ctx context.Context) iter.Seq2[wire.Event, error] {
		if html {
			return c.h.gateway.PageEvents(ctx, id, after)
		}
		return c.h.gateway.Events(ctx, id, after)
	}})
}

func (c *call) allEvents() error {
	return c.stream(source{events: func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return c.visibleEvents(ctx, c.h.gateway.AllEvents(ctx))
	}})
}

func (c *call) inbound(in wire.Inbound) (wire.Routed, error) {
	key, err := idempotency(c.r, in.ID)
	if err != nil {
		return wire.Routed{}, err
	}
	in.ID = key
	if err := c.boundInbound(in); err != nil {
		return wire.Routed{}, err
	}
	return c.h.gateway.Inbound(c.r.Context(), in)
}

func (c *call) listKeys() (wire.Page[wire.Key], error) {
	q := gateway.KeyQuery{Agent: c.query.text("agent"), Text: c.query.text("text"), Limit: c.limit(), Cursor: c.query.text("cursor")}
	if c.query.err != nil {
		return wire.Page[wire.Key]{}, c.query.err
	}
	if c.who.bound() {
		q.Visible = c.who.may
	}
	return c.h.gateway.Keys(c.r.Context(), q)
}

func (c *call) getKey() (wire.Key, error) {
	key, err := c.key()
	if err != nil {
		return wire.Key{}, err
	}
	return c.h.gateway.Key(c.r.Context(), key)
}

func (c *call) pointKey(k wire.Key) (wire.Key, error) {
	key, err := c.key()
	if err != nil {
		return wire.Key{}, err
	}
	if k.Key != "" && k.Key != key {
		return wire.Key{}, gateway.Invalid("the key of the body is not that of the address")
	}
	if k.Session == "" {
		return wire.Key{}, gateway.Invalid("no session is named for the key to point at")
	}
	id, err := c.resolve(string(k.Session))
	if err != nil {
		return wire.Key{}, err
	}
	return c.h.gateway.PointKey(c.r.Context(), key, id)
}

func (c *call) removeKey() (wire.Key, error) {
	key, err := c.key()
	if err != nil {
		return wire.Key{}, err
	}
	return c.h.gateway.RemoveKey(c.r.Context(), key)
}

func (c *call) resetKey(none) (wire.Routed, error) {
	key, err := c.key()
	if err != nil {
		return wire.Routed{}, err
	}
	return c.h.gateway.ResetKey(c.r.Context(), key)
}

func (c *call) continuePrevious(none) (wire.Key, error) {
	key, err := c.key()
	if err != nil {
		return wire.Key{}, err
	}
	return c.h.gateway.ContinuePrevious(c.r.Context(), key)
}

func (c *call) listRunning() (wire.Page[wire.Session], error) {
	return pageOf(c.running()), nil
}

func (c *call) status() (wire.Status, error) {
	s, err := c.h.gateway.Status(c.r.Context())
	s.TCP = tcpOf(c.r.Context())
	return c.boundStatus(s), err
}

func (c *call) listAgents() (wire.Page[wire.Agent], error) {
	return pageOf(c.visibleAgents(c.h.gateway.Agents(c.r.Context()))), nil
}

// tokens returns the token book, or an error if this gateway has none.
func (c *call) tokens() (*token.Book, error) {
	if c.h.config.Tokens == nil {
		return nil, &wire.Problem{Kind: wire.Unsupported, Message: "this gateway keeps no tokens"}
	}
	return c.h.config.Tokens, nil
}

func (c *call) listTokens() (wire.Page[wire.Token], error) {
	t, err := c.tokens()
	if err != nil {
		return wire.Page[wire.Token]{}, err
	}
	all, err := t.List(c.r.Context())
	return pageOf(all), err
}

func (c *call) createToken(n wire.NewToken) (wire.Created, error) {
	t, err := c.tokens()
	if err != nil {
		return wire.Created{}, err
	}
	return t.Create(c.r.Context(), n)
}

func (c *call) revokeToken() (wire.Token, error) {
	t, err := c.tokens()
	if err != nil {
		return wire.Token{}, err
	}
	return t.Revoke(c.r.Context(), c.r.PathValue("token"))
}
