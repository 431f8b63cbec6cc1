package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"

	"firn.dev"
	"firn.dev/wire"
)

// as is how entries are told: as lines of the file, or as pages show them.
func as(html bool) string {
	if html {
		return "html"
	}
	return ""
}

// Entry tells one entry, whole: as its line, or as its card. It is named by its
// id or the beginning of it, a label, HEAD, HEAD~n or #n.
func (c *Client) Entry(ctx context.Context, id firn.ID, ref string, html bool) (wire.Entry, error) {
	return ask[wire.Entry](ctx, c, get(sessionPath(id, "entries", ref)...).with("as", as(html)))
}

// mostImage is how large an image may be.
const mostImage = 64 << 20

// Image is image n of an entry, from 1, and its type.
func (c *Client) Image(ctx context.Context, id firn.ID, ref string, n int) ([]byte, string, error) {
	r := get(sessionPath(id, "entries", ref, "images", strconv.Itoa(n))...)
	response, err := c.send(ctx, r, nil, "image/*")
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, mostImage+1))
	if err != nil {
		return nil, "", c.broken(ctx, r, err)
	}
	if len(data) > mostImage {
		return nil, "", fmt.Errorf("read an image of session %s: it has more than %d bytes: %w", id, mostImage, firn.ErrTooLarge)
	}
	return data, response.Header.Get("Content-Type"), nil
}

// PageEvents is Events for a page: entries come as cards, and an answer that is
// being given as HTML that grows.
func (c *Client) PageEvents(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return c.events(ctx, id, after, true)
}
