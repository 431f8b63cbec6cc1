package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"firn.dev"
	"firn.dev/wire"
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

// ExportAs is Export as e says: with secrets masked, for example. If they are to be
// masked and the gateway is too old to do it, nothing is written, and the error is
// [firn.ErrUnsupported].
func (c *Client) ExportAs(ctx context.Context, id firn.ID, e wire.Export, w io.Writer) error {
	return c.copyTo(ctx, exporting(id, e), typeLines, w, func(head http.Header) error {
		return checkMasked(e, head.Get(wire.MaskedHeader) != "")
	})
}

// checkMasked refuses what a gateway writes that was asked to mask secrets and does
// not say that it did: an older one ignores what it does not know.
func checkMasked(e wire.Export, masked bool) error {
	if !e.Mask || masked {
		return nil
	}
	return fmt.Errorf("export with secrets masked: nothing was written, since the gateway is older than this program and would mask none; restart it to run the same: %w", firn.ErrUnsupported)
}

// exporting is the request for a session in another format.
func exporting(id firn.ID, e wire.Export) request {
	r := get("v1", "sessions", string(id), "export").with("format", e.Format).with("cwd", e.CWD).with("as", e.As).with("view", e.View)
	return r.withFlag("mask", e.Mask)
}

// copyTo writes what the gateway answers to w, unless check has something against
// its header; nil has nothing. An error of w is returned as it is: the gateway did
// its part.
func (c *Client) copyTo(ctx context.Context, r request, accept string, w io.Writer, check func(http.Header) error) error {
	response, err := c.send(ctx, r, nil, accept)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if check != nil {
		if err := check(response.Header); err != nil {
			return err
		}
	}
	to := &sink{w: w}
	_, err = io.Copy(to, response.Body)
	switch {
	case to.err != nil:
		return to.err
	case err != nil:
		return c.broken(ctx, r, err)
	}
	return nil
}

// sink is a writer that remembers what went wrong with it, so that it is not taken
// for trouble with who is read from.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// ExportPage writes a session to w as a page of HTML that stands for itself: its
// branch, or with [wire.ViewDisk] all there is.
func (c *Client) ExportPage(ctx context.Context, id firn.ID, view string, w io.Writer) error {
	return c.copyTo(ctx, exporting(id, wire.Export{Format: wire.FormatHTML, View: view}), "text/html", w, nil)
}

// Fidelity tells how well a session can be said in another format.
func (c *Client) Fidelity(ctx context.Context, id firn.ID, format string) (wire.Fidelity, error) {
	return c.FidelityAs(ctx, id, wire.Export{Format: format})
}

// FidelityAs is Fidelity of what [Client.ExportAs] writes, with the same error if
// that would not be masked. A report of a page does not tell.
func (c *Client) FidelityAs(ctx context.Context, id firn.ID, e wire.Export) (wire.Fidelity, error) {
	f, err := ask[wire.Fidelity](ctx, c, exporting(id, e).withFlag("report", true))
	if err == nil {
		err = checkMasked(e, f.Masked != nil || e.Format == wire.FormatHTML)
	}
	return f, err
}
