package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"firn.dev"
	"firn.dev/wire"
)

// Transfer imports and exports sessions in the formats of other tools, and merges those of
// other machines.
type Transfer struct{ *conn }

// Formats lists the formats that sessions can be imported from and exported to.
func (c Transfer) Formats(ctx context.Context) ([]wire.Format, error) {
	page, err := ask[wire.Page[wire.Format]](ctx, c.conn, get("v1", "formats"))
	return page.Items, err
}

// Import imports a transcript of any format as a session. The transcript is streamed once;
// after a broken import, the next one does not add the same entries again.
func (c Transfer) Import(ctx context.Context, in wire.Import, transcript io.Reader) (wire.Imported, error) {
	r := request{method: http.MethodPost, path: []string{"v1", "import"}, stream: transcript, tries: 1}
	return ask[wire.Imported](ctx, c.conn, r.with("from", in.From).with("id", string(in.ID)).with("agent", in.Agent).with("title", in.Title).with("name", in.Name))
}

// Merge adds lines that come from the same session on another machine to a session. It
// requires the scope admin.
func (c Transfer) Merge(ctx context.Context, id firn.ID, m wire.Merge, lines io.Reader) (wire.Merged, error) {
	r := request{method: http.MethodPost, path: []string{"v1", "store", string(id), "merge"}, stream: lines, tries: 1}
	return ask[wire.Merged](ctx, c.conn, r.withNumber("expect", uint64(m.Expect)).with("head", string(m.Head)))
}

// Export writes a session to w in the format of another tool. It may fail after a part was
// written.
func (c Transfer) Export(ctx context.Context, id firn.ID, format string, w io.Writer) error {
	return c.ExportTo(ctx, id, format, "", w)
}

// ExportTo is Export with another working directory.
func (c Transfer) ExportTo(ctx context.Context, id firn.ID, format, cwd string, w io.Writer) error {
	return c.ExportAs(ctx, id, wire.Export{Format: format, CWD: cwd}, w)
}

// ExportAs is Export with options, for example with secrets masked. If masking is requested
// and the gateway is too old to support it, nothing is written and the error is
// [firn.ErrUnsupported].
func (c Transfer) ExportAs(ctx context.Context, id firn.ID, e wire.Export, w io.Writer) error {
	return c.copyTo(ctx, exportRequest(id, e), typeLines, w, func(head http.Header) error {
		return checkMasked(e, head.Get(wire.MaskedHeader) != "")
	})
}

// checkMasked fails if masking was requested but not confirmed by the gateway: an older one
// ignores the option.
func checkMasked(e wire.Export, masked bool) error {
	if !e.Mask || masked {
		return nil
	}
	return fmt.Errorf("cannot mask secrets: the gateway is older than this program; restart it and try again, nothing was written: %w", firn.ErrUnsupported)
}

// exportRequest returns the request for a session in another format.
func exportRequest(id firn.ID, e wire.Export) request {
	r := get("v1", "sessions", string(id), "export").with("format", e.Format).with("cwd", e.CWD).with("as", e.As).with("view", e.View)
	return r.withFlag("mask", e.Mask)
}

// copyTo writes the response of the gateway to w, unless check rejects its header; check
// may be nil. An error of w is returned unchanged.
func (c *conn) copyTo(ctx context.Context, r request, accept string, w io.Writer, check func(http.Header) error) error {
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
	to := &errorWriter{w: w}
	_, err = io.Copy(to, response.Body)
	switch {
	case to.err != nil:
		return to.err
	case err != nil:
		return c.connectionError(ctx, r, err)
	}
	return nil
}

// errorWriter is a writer that remembers its error, so that it is not mistaken for a read
// error.
type errorWriter struct {
	w   io.Writer
	err error
}

func (s *errorWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// ExportPage writes a session to w as a self-contained HTML page: its branch, or with
// [wire.ViewDisk] the whole file.
func (c Transfer) ExportPage(ctx context.Context, id firn.ID, view string, w io.Writer) error {
	return c.copyTo(ctx, exportRequest(id, wire.Export{Format: wire.FormatHTML, View: view}), "text/html", w, nil)
}

// Fidelity reports how completely a session can be represented in another format.
func (c Transfer) Fidelity(ctx context.Context, id firn.ID, format string) (wire.Fidelity, error) {
	return c.FidelityAs(ctx, id, wire.Export{Format: format})
}

// FidelityAs is Fidelity for the options of [Client.Transfer.ExportAs], with the same error if
// masking is not supported. For a page this is not checked.
func (c Transfer) FidelityAs(ctx context.Context, id firn.ID, e wire.Export) (wire.Fidelity, error) {
	f, err := ask[wire.Fidelity](ctx, c.conn, exportRequest(id, e).withFlag("report", true))
	if err == nil {
		err = checkMasked(e, f.Masked != nil || e.Format == wire.FormatHTML)
	}
	return f, err
}
