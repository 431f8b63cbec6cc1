package client

import (
	"context"
	"io"
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// Course tells how the branch of a session's head went, turn by turn.
func (c *Client) Course(ctx context.Context, id firn.ID) (wire.Course, error) {
	return ask[wire.Course](ctx, c, get(sessionPath(id, "course")...))
}

// Compaction tells what a compaction did: its summary, what it stands for, and
// the window before and after it. It is named by its entry, or "latest".
func (c *Client) Compaction(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.CompactionDetail, error) {
	return ask[wire.CompactionDetail](ctx, c, get(sessionPath(id, "compactions", string(compaction))...))
}

// Batch changes many sessions in the same way, and tells of each what came of it.
func (c *Client) Batch(ctx context.Context, b wire.Batch) ([]wire.BatchResult, error) {
	page, err := ask[wire.Page[wire.BatchResult]](ctx, c, post(b, "v1", "sessions", "batch"))
	return page.Items, err
}

// Sources lists where sessions are from: the gateway's own home, and folders of
// other tools that it mirrors.
func (c *Client) Sources(ctx context.Context) ([]wire.Source, error) {
	page, err := ask[wire.Page[wire.Source]](ctx, c, get("v1", "sources"))
	return page.Items, err
}

// Tags lists the tags that sessions have, and how many have each.
func (c *Client) Tags(ctx context.Context) ([]wire.Tag, error) {
	page, err := ask[wire.Page[wire.Tag]](ctx, c, get("v1", "tags"))
	return page.Items, err
}

// Ops tells how the gateway and what it keeps are doing.
func (c *Client) Ops(ctx context.Context) (wire.Ops, error) {
	return ask[wire.Ops](ctx, c, get("v1", "ops"))
}

// Verify begins a check of all sessions, unless one is under way. Ops tells how
// it goes.
func (c *Client) Verify(ctx context.Context) (wire.Verified, error) {
	return ask[wire.Verified](ctx, c, post(struct{}{}, "v1", "verify"))
}

// EditNote replaces the text of a note. It can be undone.
func (c *Client) EditNote(ctx context.Context, at wire.MemoryPlace, ref, text string) (wire.Remembered, error) {
	r := request{method: http.MethodPut, path: []string{"v1", "memory", "notes", ref}, body: wire.NoteText{Text: text}}
	return ask[wire.Remembered](ctx, c, r.at(at))
}

// typeTable is the type of a table.
const typeTable = "text/csv"

// UsageQuery says what is summed up, and by what.
type UsageQuery struct {
	// By is day, model, agent or session; And is a second one of them, if rows
	// are to differ in two.
	By, And string
	// Since is when counting begins; zero counts all.
	Since time.Time
}

func (q *UsageQuery) request() request {
	return get("v1", "usage").with("by", q.By).with("and", q.And).withTime("since", q.Since)
}

// UsageOf sums up what sessions have used.
func (c *Client) UsageOf(ctx context.Context, q UsageQuery) (wire.Spending, error) {
	return ask[wire.Spending](ctx, c, q.request())
}

// UsageTable writes what sessions have used as a table of comma-separated values.
func (c *Client) UsageTable(ctx context.Context, q UsageQuery, w io.Writer) error {
	return c.copyTo(ctx, q.request().with("format", "csv"), typeTable, w, nil)
}
