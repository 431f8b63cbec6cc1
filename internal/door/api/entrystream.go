package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"unicode/utf8"

	"firn.dev/wire"
)

// streamFrom is the size of lines, in bytes, from which a page of entries is encoded while
// it is sent, without a second copy in memory.
const streamFrom = 256 << 10

// sizeOfLines returns the total size in bytes of the lines of a page.
func sizeOfLines(items []wire.Entry) int {
	n := 0
	for i := range items {
		n += len(items[i].Line) + len(items[i].Text)
	}
	return n
}

// streamEntries responds with a page of entries, one after the other. It stops if the
// client disconnects.
func (c *call) streamEntries(page wire.Page[wire.Entry]) error {
	head := c.w.Header()
	head.Set("Content-Type", "application/json")
	var out io.Writer = sender{c}
	if !isOwner(c.r.Context()) {
		head.Add("Vary", "Accept-Encoding")
		if acceptsGzip(c.r) {
			head.Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // cannot fail: the level is valid
			defer z.Close()
			out = z
		}
	}
	c.reserved.shrink(int64(sizeOfLines(page.Items)))
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	items := page.Items
	page.Items = []wire.Entry{}
	rest, err := json.Marshal(page) // numbers and a cursor only
	if err != nil {
		return err
	}
	const before = `{"items":[`
	if _, err := io.WriteString(out, before); err != nil {
		return nil
	}
	for i := range items {
		if i > 0 {
			io.WriteString(out, ",") //nolint:errcheck // the next write fails too
		}
		if writeEntry(out, &items[i]) != nil {
			return nil
		}
		items[i] = wire.Entry{} // free its memory
	}
	out.Write(append(bytes.TrimPrefix(rest, []byte(before)), '\n')) //nolint:errcheck // errors mean the client disconnected
	return nil
}

// writeEntry encodes an entry without copying its line.
func writeEntry(w io.Writer, e *wire.Entry) error {
	line, text := e.Line, e.Text
	small := *e
	small.Line, small.Text = nil, ""
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(small); err != nil {
		return err
	}
	if _, err := w.Write(b.Bytes()[:bytes.LastIndexByte(b.Bytes(), '}')]); err != nil {
		return err
	}
	if len(line) > 0 {
		if _, err := io.WriteString(w, `,"line":`); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	if text != "" {
		if err := writeText(w, text); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "}")
	return err
}

// writeText encodes the text of an entry in chunks.
func writeText(w io.Writer, text string) error {
	if _, err := io.WriteString(w, `,"text":"`); err != nil {
		return err
	}
	var b bytes.Buffer
	for len(text) > 0 {
		n := min(len(text), sendPiece)
		for n < len(text) && n > 1 && !utf8.RuneStart(text[n]) {
			n--
		}
		b.Reset()
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text[:n]); err != nil {
			return err
		}
		if _, err := w.Write(b.Bytes()[1 : b.Len()-2]); err != nil { // without the quotes and the newline
			return err
		}
		text = text[n:]
	}
	_, err := io.WriteString(w, `"`)
	return err
}
