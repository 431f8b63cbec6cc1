package api

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

func storedRoutes() []operation {
	merge := give(storedCalls.mergeStored)
	merge.anything = true
	return []operation{
		{method: "GET", path: "/v1/store", name: "listStored", scope: wire.ScopeAdmin, what: "Lists everything in the store, one JSON object per line: sessions, including those in the trash bin, receipts of purges, then keys.", action: write(typeLines, storedCalls.listStored)},
		{method: "GET", path: "/v1/store/{session}", name: "readStored", scope: wire.ScopeAdmin, what: "Returns a session's lines byte for byte, including sessions in the trash bin.", action: write(typeLines, storedCalls.readStored)},
		{method: "POST", path: "/v1/store/{session}/merge", name: "mergeStored", scope: wire.ScopeAdmin, what: "Adds the lines in the body, which come from the same session on another machine, and moves the head. Used by firn sync.", query: []param{
			count("expect", "End of the session as it was read; 0 for a new session."), text("head", "Entry at which the conversation continues."),
		}, action: merge},
	}
}

// listStored streams the contents of the store.
func (c storedCalls) listStored() error {
	if c.who.bound() {
		return boundTo("reading the whole store")
	}
	return c.lines(func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		for line, err := range c.gateway.Stored(c.r.Context()) {
			if err != nil {
				return err
			}
			if err := encoder.Encode(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// readStored streams the lines of a session.
func (c storedCalls) readStored() error {
	if c.who.bound() {
		return boundTo("reading the whole store")
	}
	return c.lines(func(w io.Writer) error {
		return c.gateway.WriteLines(c.r.Context(), firn.ID(c.r.PathValue("session")), w)
	})
}

// mergeStored adds lines from another machine to a session.
func (c storedCalls) mergeStored() (wire.Merged, error) {
	if c.who.bound() {
		return wire.Merged{}, boundTo("merging sessions")
	}
	q := &c.query
	m := wire.Merge{Expect: q.pos("expect"), Head: firn.EntryID(q.text("head"))}
	if q.err != nil {
		return wire.Merged{}, q.err
	}
	return c.gateway.MergeStored(c.r.Context(), firn.ID(c.r.PathValue("session")), m, &importBody{c.call})
}

// linesBuffer is the size of the write buffer in bytes.
const linesBuffer = 64 << 10

// lines streams lines as they are written. An error before the first write is returned.
// After that the connection is aborted, so that no client takes a partial response for a
// complete one.
func (c storedCalls) lines(produce func(io.Writer) error) error {
	out := &lineStream{c: c.call}
	buffered := bufio.NewWriterSize(out, linesBuffer)
	err := produce(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil && out.begun {
		panic(http.ErrAbortHandler)
	}
	if err == nil {
		out.start() // needed if the response is empty
	}
	return err
}

// lineStream is a response body whose header is sent with the first byte.
type lineStream struct {
	c     *call
	begun bool
}

func (l *lineStream) start() {
	if !l.begun {
		l.begun = true
		l.c.w.Header().Set("Content-Type", typeLines)
		l.c.w.WriteHeader(http.StatusOK)
	}
}

// Write sends a chunk, which the client must accept within the write timeout.
func (l *lineStream) Write(p []byte) (int, error) {
	l.start()
	_ = http.NewResponseController(l.c.w).SetWriteDeadline(time.Now().Add(l.c.h.config.WriteTimeout))
	return l.c.w.Write(p)
}
