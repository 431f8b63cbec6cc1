package client

import (
	"context"
	"io"
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// Course returns the turns of the session's current branch.
func (c *Client) Course(ctx context.Context, id firn.ID) (wire.Course, error) {
	return ask[wire.Course](ctx, c.conn, get(sessionPath(id, "course")...))
}

// Compaction returns the details of a compaction: its summary, the entries it replaces, and
// the window before and after it. compaction is its entry, or "latest".
func (c *Client) Compaction(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.CompactionDetail, error) {
	return ask[wire.CompactionDetail](ctx, c.conn, get(sessionPath(id, "compactions", string(compaction))...))
}

// Batch changes many sessions in the same way and returns a result for each.
func (c *Client) Batch(ctx context.Context, b wire.Batch) ([]wire.BatchResult, error) {
	page, err := ask[wire.Page[wire.BatchResult]](ctx, c.conn, post(b, "v1", "sessions", "batch"))
	return page.Items, err
}

// Sources lists the sources of sessions: the gateway's own home and the mirrored folders of
// other tools.
func (c *Client) Sources(ctx context.Context) ([]wire.Source, error) {
	page, err := ask[wire.Page[wire.Source]](ctx, c.conn, get("v1", "sources"))
	return page.Items, err
}

// Tags lists the tags of sessions with their counts.
func (c *Client) Tags(ctx context.Context) ([]wire.Tag, error) {
	page, err := ask[wire.Page[wire.Tag]](ctx, c.conn, get("v1", "tags"))
	return page.Items, err
}

// Ops returns the operational state of the gateway and its storage.
func (c *Client) Ops(ctx context.Context) (wire.Ops, error) {
	return ask[wire.Ops](ctx, c.conn, get("v1", "ops"))
}

// Verify starts a check of all sessions unless one is running. Ops reports its progress.
func (c *Client) Verify(ctx context.Context) (wire.Verified, error) {
	return ask[wire.Verified](ctx, c.conn, post(struct{}{}, "v1", "verify"))
}

// Edit replaces the text of a note. It can be undone.
func (c Memory) Edit(ctx context.Context, at wire.MemoryPlace, ref, text string) (wire.Remembered, error) {
	r := request{method: http.MethodPut, path: []string{"v1", "memory", "notes", ref}, body: wire.NoteText{Text: text}}
	return ask[wire.Remembered](ctx, c.conn, r.at(at))
}

// typeTable is the content type of a table.
const typeTable = "text/csv"

// UsageQuery selects and groups usage.
type UsageQuery struct {
	// By is day, model, agent or session; And is an optional second grouping.
	By, And string
	// Since is the start of the period; zero means everything.
	Since time.Time
}

func (q *UsageQuery) request() request {
	return get("v1", "usage").with("by", q.By).with("and", q.And).withTime("since", q.Since)
}

// UsageOf returns the usage of sessions.
func (c *Client) UsageOf(ctx context.Context, q UsageQuery) (wire.Spending, error) {
	return ask[wire.Spending](ctx, c.conn, q.request())
}

// UsageReport returns the usage of all sessions since a time, by several dimensions; zero
// means everything.
func (c *Client) UsageReport(ctx context.Context, since time.Time) (wire.UsageReport, error) {
	return ask[wire.UsageReport](ctx, c.conn, get("v1", "usage", "report").withTime("since", since))
}

// UsageTable writes the usage of sessions as CSV.
func (c *Client) UsageTable(ctx context.Context, q UsageQuery, w io.Writer) error {
	return c.copyTo(ctx, q.request().with("format", "csv"), typeTable, w, nil)
}
