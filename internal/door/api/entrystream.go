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

// streamFrom is from how many bytes of lines on a page of entries is sent as it is
// spelt, without a second copy of it in memory.
const streamFrom = 256 << 10

// sizeOfLines is how many bytes the lines of a page have.
func sizeOfLines(items []wire.Entry) int {
	n := 0
	for i := range items {
		n += len(items[i].Line) + len(items[i].Text)
	}
	return n
}

// streamEntries answers with a page of entries, one after the other. A page whose
// client is gone is not sent to its end.
func (c *call) streamEntries(page wire.Page[wire.Entry]) error {
	head := c.w.Header()
	head.Set("Content-Type", "application/json")
	var out io.Writer = sender{c}
	if !isOwner(c.r.Context()) {
		head.Add("Vary", "Accept-Encoding")
		if acceptsGzip(c.r) {
			head.Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // a level that there is
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
	rest, err := json.Marshal(page) // numbers and a cursor
	if err != nil {
		return err
	}
	const before = `{"items":[`
	if _, err := io.WriteString(out, before); err != nil {
		return nil
	}
	for i := range items {
		if i > 0 {
			io.WriteString(out, ",") //nolint:errcheck // the next write tells
		}
		if writeEntry(out, &items[i]) != nil {
			return nil
		}
		items[i] = wire.Entry{} // its memory is free
	}
	out.Write(append(bytes.TrimPrefix(rest, []byte(before)), '\n')) //nolint:errcheck // who is gone needs no answer
	return nil
}

// writeEntry spells an entry, without a copy of its line.
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

// writeText spells the text of an entry piece by piece.
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
		if _, err := w.Write(b.Bytes()[1 : b.Len()-2]); err != nil { // without its quotes and the line break
			return err
		}
		text = text[n:]
	}
	_, err := io.WriteString(w, `"`)
	return err
}
