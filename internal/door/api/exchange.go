package api

import (
	"io"
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/internal/render/page"
	"firn.dev/wire"
)

// export answers with a session in another format, as a stream, or with a
// report of how that would go.
func (c *call) export() error {
	id, err := c.session()
	if err != nil {
		return err
	}
	to, report := wire.Export{Format: c.query.text("format"), CWD: c.query.text("cwd"), As: c.query.text("as"), View: c.query.text("view"), Mask: c.query.flag("mask")}, c.query.flag("report")
	if c.query.err != nil {
		return c.query.err
	}
	if report {
		f, err := c.h.gateway.Export(c.r.Context(), id, to, io.Discard)
		if err != nil {
			return err
		}
		return c.reply(http.StatusOK, f)
	}
	out := &exporting{c: c, page: to.Format == wire.FormatHTML, masked: to.Mask, name: string(id)}
	if _, err = c.h.gateway.Export(c.r.Context(), id, to, out); err != nil && out.begun {
		panic(http.ErrAbortHandler) // what was sent is not all of it, and the client must see that
	}
	if err == nil && !out.begun {
		out.begin()
	}
	return err
}

// exporting is the body of an answer, which begins with the first byte: until
// then an error can be told.
type exporting struct {
	c     *call
	begun bool
	// page says that it is HTML, whose secrets are masked always, masked that others
	// were asked to be, name what a file of it is called.
	page, masked bool
	name         string
}

func (e *exporting) begin() {
	e.begun = true
	if e.page || e.masked {
		e.c.w.Header().Set(wire.MaskedHeader, "true")
	}
	e.c.w.Header().Set("Content-Type", typeLines)
	if e.page { // it is to be kept, and opened here it can do nothing
		e.c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		e.c.w.Header().Set("Content-Disposition", `attachment; filename="`+e.name+`.html"`)
		e.c.w.Header().Set("Content-Security-Policy", page.Policy()+"; sandbox")
	}
	e.c.w.WriteHeader(http.StatusOK)
}

// Write sends a piece.
func (e *exporting) Write(p []byte) (int, error) {
	if !e.begun {
		e.begin()
	}
	return sender{e.c}.Write(p)
}

// importSession reads a transcript from the body.
func (c *call) importSession() (wire.Imported, error) {
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
		// A transcript names its session itself, which may be another's.
		in.Agent, in.ID = n.Agent, firn.NewID()
	}
	return c.h.gateway.Import(c.r.Context(), in, &paced{c})
}

// paced is a body of any length. Who sends nothing for a while is cut off.
type paced struct{ c *call }

// Read reads what has come.
func (p *paced) Read(b []byte) (int, error) {
	_ = http.NewResponseController(p.c.w).SetReadDeadline(time.Now().Add(p.c.h.config.BodyTimeout))
	return p.c.r.Body.Read(b)
}

func (c *call) listFormats() (wire.Page[wire.Format], error) {
	return pageOf(c.h.gateway.Formats(c.r.Context())), nil
}
