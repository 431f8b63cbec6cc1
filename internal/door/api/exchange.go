package api

import (
	"io"
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/internal/render/page"
	"firn.dev/wire"
)

// export streams a session in another format, or returns a report of the conversion.
func (c exchangeCalls) export() error {
	id, err := c.session()
	if err != nil {
		return err
	}
	to, report := wire.Export{Format: c.query.text("format"), CWD: c.query.text("cwd"), As: c.query.text("as"), View: c.query.text("view"), Mask: c.query.flag("mask")}, c.query.flag("report")
	if c.query.err != nil {
		return c.query.err
	}
	if report {
		f, err := c.gateway.Export(c.r.Context(), id, to, io.Discard)
		if err != nil {
			return err
		}
		return c.reply(http.StatusOK, f)
	}
	out := &exportBody{c: c.call, page: to.Format == wire.FormatHTML, masked: to.Mask, name: string(id)}
	if _, err = c.gateway.Export(c.r.Context(), id, to, out); err != nil && out.begun {
		panic(http.ErrAbortHandler) // the response is incomplete, and the client must notice
	}
	if err == nil && !out.begun {
		out.start()
	}
	return err
}

// exportBody is a response body whose header is sent with the first byte. Before that, an
// error can still be reported.
type exportBody struct {
	c     *call
	begun bool
	// page is set for HTML, where secrets are always masked. masked is set if masking was
	// requested. name is the base of the file name.
	page, masked bool
	name         string
}

func (e *exportBody) start() {
	e.begun = true
	if e.page || e.masked {
		e.c.w.Header().Set(wire.MaskedHeader, "true")
	}
	e.c.w.Header().Set("Content-Type", typeLines)
	if e.page { // downloaded as a file; the policy prevents scripts if it is opened here
		e.c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		e.c.w.Header().Set("Content-Disposition", `attachment; filename="`+e.name+`.html"`)
		e.c.w.Header().Set("Content-Security-Policy", page.Policy()+"; sandbox")
	}
	e.c.w.WriteHeader(http.StatusOK)
}

// Write sends a chunk.
func (e *exportBody) Write(p []byte) (int, error) {
	if !e.begun {
		e.start()
	}
	return sender{e.c}.Write(p)
}

// importSession imports a transcript from the body.
func (c exchangeCalls) importSession() (wire.Imported, error) {
	q := &c.query
	in := wire.Import{From: q.text("from"), ID: firn.ID(q.text("id")), Agent: q.text("agent"), Title: q.text("title"), Name: q.text("name")}
	if q.err != nil {
		return wire.Imported{}, q.err
	}
	n, err := c.boundNew(wire.NewSession{Agent: in.Agent})
	if err != nil {
		return wire.Imported{}, err
	}
	if c.who.bound() {
		// A transcript contains its own session ID, which may belong to another caller.
		in.Agent, in.ID = n.Agent, firn.NewID()
	}
	return c.gateway.Import(c.r.Context(), in, &importBody{c.call})
}

// importBody is a request body of any length. Each read must complete within the body
// timeout.
type importBody struct{ c *call }

// Read reads the next chunk.
func (p *importBody) Read(b []byte) (int, error) {
	_ = http.NewResponseController(p.c.w).SetReadDeadline(time.Now().Add(p.c.h.config.BodyTimeout))
	return p.c.r.Body.Read(b)
}

func (c exchangeCalls) listFormats() (wire.Page[wire.Format], error) {
	return pageOf(c.gateway.Formats(c.r.Context())), nil
}
