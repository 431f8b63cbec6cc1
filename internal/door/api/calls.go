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

// The handlers in this file implement the operations of the route table by calling
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

func (c sessionCalls) listSessions() (wire.Page[wire.Session], error) {
	q := &c.query
	want := gateway.SessionQuery{
		Agent: q.text("agent"), Key: q.text("key"), Sender: q.text("sender"), State: q.flag("state"), Text: q.text("text"),
		Archived: q.flag("archived"), Hidden: q.flag("hidden"), Empty: q.flag("empty"), Live: q.flag("live"), Count: q.flag("count"), Limit: c.limit(), Cursor: q.text("cursor"),
		Directory: q.text("cwd"), Under: q.text("under"), Source: q.text("source"), Tag: q.text("tag"), Since: q.moment("since"), Until: q.moment("until"),
		Sort: q.text("sort"), Direction: q.text("order"), Group: q.text("group"),
	}
	if q.err != nil {
		return wire.Page[wire.Session]{}, q.err
	}
	return c.visibleSessions(want)
}

func (c sessionCalls) newSession(n wire.NewSession) (wire.Session, error) {
	n, err := c.boundNew(n)
	if err != nil {
		return wire.Session{}, err
	}
	return c.gateway.NewSession(c.r.Context(), n)
}

func (c sessionCalls) getSession() (wire.Session, error) {
	s, err := c.gateway.Session(c.r.Context(), c.r.PathValue("id"))
	if err = c.visible(s, err); err != nil {
		return wire.Session{}, err
	}
	c.w.Header().Set("ETag", etag(s.End))
	return s, nil
}

func (c sessionCalls) patchSession(p wire.Patch) (wire.Session, error) {
	id, err := c.session()
	if err != nil {
		return wire.Session{}, err
	}
	return c.gateway.Patch(c.r.Context(), id, p)
}

func (c binCalls) removeSession() (wire.Removed, error) {
	want := wire.Remove{Reason: c.query.text("reason"), Bin: c.query.flag("bin")}
	if c.query.err != nil {
		return wire.Removed{}, c.query.err
	}
	id, err := c.session()
	if err != nil {
		return wire.Removed{}, err
	}
	return c.gateway.Remove(c.r.Context(), id, want)
}

func (c entryCalls) listEntries() (wire.Page[wire.Entry], error) {
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
	page, err := c.gateway.Entries(c.r.Context(), id, want)
	if page.Items == nil {
		page.Items = []wire.Entry{}
	}
	for i := range page.Items {
		setLineFormat(&page.Items[i], as)
	}
	return page, err
}

func (c entryCalls) appendEntries(n wire.NewEntries) (wire.Appended, error) {
	expect, err := ifMatch(c.r)
	if err != nil {
		return wire.Appended{}, err
	}
	id, err := c.session()
	if err != nil {
		return wire.Appended{}, err
	}
	done, err := c.gateway.Append(c.r.Context(), id, expect, n)
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
		return 0, gateway.Invalid("If-Match %q is not a position in quotes", header)
	}
	return firn.Pos(n), nil
}

func (c entryCalls) getTree() (wire.Tree, error) {
	limit, cursor := c.limit(), c.query.text("cursor")
	id, err := c.session()
	if err = errors.Join(c.query.err, err); err != nil {
		return wire.Tree{}, err
	}
	return c.gateway.Tree(c.r.Context(), id, limit, cursor)
}

// listChildren lists the visible sub-agent sessions of a session.
func (c sessionCalls) listChildren() (wire.Page[wire.Session], error) {
	id, err := c.session()
	if err != nil {
		return wire.Page[wire.Session]{}, err
	}
	all, err := c.gateway.Children(c.r.Context(), id)
	page := wire.Page[wire.Session]{Items: c.filterVisible(all)}
	page.Total = len(page.Items)
	return page, err
}

func (c entryCalls) getDamage() (wire.Page[wire.Damage], error) {
	id, err := c.session()
	if err = errors.Join(c.query.err, err); err != nil {
		return wire.Page[wire.Damage]{}, err
	}
	return c.gateway.Damage(c.r.Context(), id)
}

// windowAction responds with a window, or with the provider request made from it.
func windowAction() action {
	return action{out: reflect.TypeFor[wire.Window](), run: on(entryCalls.getWindow)}
}

func (c entryCalls) getWindow() error {
	id, err := c.session()
	as, file := c.query.text("as"), c.query.flag("file")
	if err = errors.Join(c.query.err, err); err != nil {
		return err
	}
	if file && as == "" {
		return gateway.Invalid("missing parameter as: the format of the request, such as anthropic or openai")
	}
	w, err := c.gateway.Window(c.r.Context(), id, as)
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

func (c compactionCalls) listCompactions() (wire.Page[wire.Compaction], error) {
	id, err := c.session()
	if err != nil {
		return wire.Page[wire.Compaction]{}, err
	}
	all, err := c.gateway.Compactions(c.r.Context(), id)
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

func (c compactionCalls) compact(q wire.Compact) (wire.Compacted, error) {
	return onSession(c.call, q, c.gateway.Compact)
}
func (c branchCalls) rewind(m wire.Move) (wire.Moved, error) {
	return onSession(c.call, m, c.gateway.Rewind)
}
func (c branchCalls) label(l wire.Label) (wire.Appended, error) {
	return onSession(c.call, l, c.gateway.Label)
}
func (c branchCalls) hide(h wire.Hide) (wire.Appended, error) {
	return onSession(c.call, h, c.gateway.Hide)
}
func (c branchCalls) show(h wire.Hide) (wire.Appended, error) {
	return onSession(c.call, h, c.gateway.Show)
}
func (c compactionCalls) undoCompaction() (wire.Compaction, error) {
	return onSession(c.call, c.compaction(), c.gateway.Undo)
}
func (c compactionCalls) redoCompaction(none) (wire.Compaction, error) {
	return onSession(c.call, c.compaction(), c.gateway.Redo)
}

// compaction returns the ID of the compaction in the request path.
func (c compactionCalls) compaction() firn.EntryID { return firn.EntryID(c.r.PathValue("cid")) }

func (c branchCalls) fork(f wire.Fork) (wire.Session, error) {
	f, err := c.boundFork(f)
	if err != nil {
		return wire.Session{}, err
	}
	return onSession(c.call, f, c.gateway.Fork)
}

func (c binCalls) restoreSession(none) (wire.Session, error) {
	id, err := c.sessionOrBinned()
	if err != nil {
		return wire.Session{}, err
	}
	return c.gateway.Restore(c.r.Context(), id)
}

func (c binCalls) purge(e wire.Erase) (wire.Receipt, error) {
	id, err := c.sessionOrBinned()
	if err != nil {
		return wire.Receipt{}, err
	}
	return c.gateway.Purge(c.r.Context(), id, e)
}

func (c turnCalls) turn() error {
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
			return c.gateway.StreamTurn(ctx, id, t)
		}})
	}
	answer, err := c.gateway.Turn(c.r.Context(), id, t)
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
		return "", gateway.Invalid("the Idempotency-Key and the id of the message differ")
	}
	if len(key) > 128 || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", gateway.Invalid("the id of a message must have at most 128 printable ASCII characters without spaces")
	}
	return key, nil
}

func (c turnCalls) kill(none) (wire.Stopped, error) {
	return onSession(c.call, none{}, func(ctx context.Context, id firn.ID, _ none) (wire.Stopped, error) { return c.gateway.StopAll(ctx, id) })
}

func (c turnCalls) changeQueue(q wire.QueueChange) (wire.Queue, error) {
	return onSession(c.call, q, c.gateway.ChangeQueue)
}

func (c turnCalls) listApprovals() (wire.Page[wire.Approval], error) {
	id, err := c.session()
	if err != nil {
		return wire.Page[wire.Approval]{}, err
	}
	all, err := c.gateway.Approvals(c.r.Context(), id)
	return pageOf(all), err
}

func (c turnCalls) answerApproval(in wire.ApprovalAnswer) (wire.ApprovalAnswer, error) {
	return onSession(c.call, in, func(ctx context.Context, id firn.ID, in wire.ApprovalAnswer) (wire.ApprovalAnswer, error) {
		return c.gateway.AnswerApproval(ctx, id, c.r.PathValue("call"), in)
	})
}

func (c turnCalls) answerCall(in wire.ClientResult) (wire.CallAccepted, error) {
	return onSession(c.call, in, func(ctx context.Context, id firn.ID, in wire.ClientResult) (wire.CallAccepted, error) {
		return c.gateway.AnswerCall(ctx, id, c.r.PathValue("call"), in)
	})
}

func (c eventCalls) sessionEvents() error {
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
	if err := c.gateway.CheckPosition(c.r.Context(), id, after); err != nil {
		return err
	}
	return c.stream(source{numbered: true, after: after, events: func(ctx context.Context) iter.Seq2[wire.Event, error] {
		if html {
			return c.gateway.PageEvents(ctx, id, after)
		}
		return c.gateway.Events(ctx, id, after)
	}})
}

func (c eventCalls) allEvents() error {
	return c.stream(source{events: func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return c.visibleEvents(ctx, c.gateway.AllEvents(ctx))
	}})
}

func (c turnCalls) inbound(in wire.Inbound) (wire.Routed, error) {
	key, err := idempotency(c.r, in.ID)
	if err != nil {
		return wire.Routed{}, err
	}
	in.ID = key
	if err := c.boundInbound(in); err != nil {
		return wire.Routed{}, err
	}
	return c.gateway.Inbound(c.r.Context(), in)
}

func (c keyCalls) listKeys() (wire.Page[wire.Key], error) {
	q := gateway.KeyQuery{Agent: c.query.text("agent"), Text: c.query.text("text"), Limit: c.limit(), Cursor: c.query.text("cursor")}
	if c.query.err != nil {
		return wire.Page[wire.Key]{}, c.query.err
	}
	if c.who.bound() {
		q.Visible = c.who.may
	}
	return c.gateway.Keys(c.r.Context(), q)
}

func (c keyCalls) getKey() (wire.Key, error) {
	key, err := c.key()
	if err != nil {
		return wire.Key{}, err
	}
	return c.gateway.Key(c.r.Context(), key)
}

func (c keyCalls) pointKey(k wire.Key) (wire.Key, error) {
	key, err := c.key()
	if err != nil {
		return wire.Key{}, err
	}
	if k.Key != "" && k.Key != key {
		return wire.Key{}, gateway.Invalid("the key in the body differs from the key in the path")
	}
	if k.Session == "" {
		return wire.Key{}, gateway.Invalid("missing session: the key has nothing to point at")
	}
	id, err := c.resolve(string(k.Session))
	if err != nil {
		return wire.Key{}, err
	}
	return c.gateway.PointKey(c.r.Context(), key, id)
}

func (c keyCalls) removeKey() (wire.Key, error) {
	key, err := c.key()
	if err != nil {
		return wire.Key{}, err
	}
	return c.gateway.RemoveKey(c.r.Context(), key)
}

func (c keyCalls) resetKey(none) (wire.Routed, error) {
	key, err := c.key()
	if err != nil {
		return wire.Routed{}, err
	}
	return c.gateway.ResetKey(c.r.Context(), key)
}

func (c keyCalls) continuePrevious(none) (wire.Key, error) {
	key, err := c.key()
	if err != nil {
		return wire.Key{}, err
	}
	return c.gateway.ContinuePrevious(c.r.Context(), key)
}

func (c statusCalls) listRunning() (wire.Page[wire.Session], error) {
	return pageOf(c.running()), nil
}

func (c statusCalls) status() (wire.Status, error) {
	s, err := c.gateway.Status(c.r.Context())
	s.TCP = tcpOf(c.r.Context())
	return c.boundStatus(s), err
}

// listSettings lists the settings that people change. They name all agents, so bound callers
// may not see them.
func (c statusCalls) listSettings() (wire.Page[wire.Setting], error) {
	if c.who.bound() {
		return wire.Page[wire.Setting]{}, boundTo("reading the settings of all agents")
	}
	if c.h.config.Settings == nil {
		return wire.Page[wire.Setting]{}, &wire.Problem{Kind: wire.Unsupported, Message: "this gateway does not list its settings"}
	}
	return pageOf(c.h.config.Settings()), nil
}

func (c statusCalls) listAgents() (wire.Page[wire.Agent], error) {
	return pageOf(c.visibleAgents(c.gateway.Agents(c.r.Context()))), nil
}

// tokens returns the token book, or an error if this gateway has none.
func (c *call) tokens() (*token.Book, error) {
	if c.h.config.Tokens == nil {
		return nil, &wire.Problem{Kind: wire.Unsupported, Message: "this gateway has no tokens"}
	}
	return c.h.config.Tokens, nil
}

func (c tokenCalls) listTokens() (wire.Page[wire.Token], error) {
	t, err := c.tokens()
	if err != nil {
		return wire.Page[wire.Token]{}, err
	}
	all, err := t.List(c.r.Context())
	return pageOf(all), err
}

func (c tokenCalls) createToken(n wire.NewToken) (wire.Created, error) {
	t, err := c.tokens()
	if err != nil {
		return wire.Created{}, err
	}
	return t.Create(c.r.Context(), n)
}

func (c tokenCalls) revokeToken() (wire.Token, error) {
	t, err := c.tokens()
	if err != nil {
		return wire.Token{}, err
	}
	return t.Revoke(c.r.Context(), c.r.PathValue("token"))
}
