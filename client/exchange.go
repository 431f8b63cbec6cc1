package client

import (
	"context"
	"io"
	"net/http"

	"firn"
	"firn/wire"
)

// Formats lists the formats that sessions can be read from and written to.
func (c *Client) Formats(ctx context.Context) ([]wire.Format, error) {
	page, err := ask[wire.Page[wire.Format]](ctx, c, get("v1", "formats"))
	return page.Items, err
}

// Import keeps a transcript of any format as a session. It is sent as a stream,
// once; what an import that broke has kept is not added again by the next.
func (c *Client) Import(ctx context.Context, in wire.Import, transcript io.Reader) (wire.Imported, error) {
	r := request{method: http.MethodPost, path: []string{"v1", "import"}, stream: transcript, tries: 1}
	return ask[wire.Imported](ctx, c, r.with("from", in.From).with("id", string(in.ID)).with("agent", in.Agent).with("title", in.Title).with("name", in.Name))
}

// Export writes a session to w as another tool would have written it. An error
// may come when part of it is written.
func (c *Client) Export(ctx context.Context, id firn.ID, format string, w io.Writer) error {
	return c.ExportTo(ctx, id, format, "", w)
}

// ExportTo is Export of a session that is to go on in another directory.
func (c *Client) ExportTo(ctx context.Context, id firn.ID, format, cwd string, w io.Writer) error {
	return c.ExportAs(ctx, id, wire.Export{Format: format, CWD: cwd}, w)
}

// ExportAs is Export as e says: with secrets masked, for example.
func (c *Client) ExportAs(ctx context.Context, id firn.ID, e wire.Export, w io.Writer) error {
	return c.copyTo(ctx, exporting(id, e), typeLines, w)
}

// exporting is the request for a session in another format.
func exporting(id firn.ID, e wire.Export) request {
	r := get("v1", "sessions", string(id), "export").with("format", e.Format).with("cwd", e.CWD).with("view", e.View)
	return r.withFlag("mask", e.Mask)
}

// copyTo writes what the gateway answers to w.
func (c *Client) copyTo(ctx context.Context, r request, accept string, w io.Writer) error {
	response, err := c.send(ctx, r, nil, accept)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(w, response.Body); err != nil {
		return c.broken(ctx, r, err)
	}
	return nil
}

// ExportPage writes a session to w as a page of HTML that stands for itself: its
// branch, or with [wire.ViewDisk] all there is.
func (c *Client) ExportPage(ctx context.Context, id firn.ID, view string, w io.Writer) error {
	return c.copyTo(ctx, exporting(id, wire.Export{Format: wire.FormatHTML, View: view}), "text/html", w)
}

// Fidelity tells how well a session can be said in another format.
func (c *Client) Fidelity(ctx context.Context, id firn.ID, format string) (wire.Fidelity, error) {
	return c.FidelityAs(ctx, id, wire.Export{Format: format})
}

// FidelityAs is Fidelity of what [Client.ExportAs] writes.
func (c *Client) FidelityAs(ctx context.Context, id firn.ID, e wire.Export) (wire.Fidelity, error) {
	return ask[wire.Fidelity](ctx, c, exporting(id, e).withFlag("report", true))
}
