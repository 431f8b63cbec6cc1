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

// formatParam returns the format parameter of entries: lines of the file or cards.
func formatParam(html bool) string {
	if html {
		return "html"
	}
	return ""
}

// Entry returns one complete entry as its line or its card. ref is an ID or a prefix of it,
// a label, HEAD, HEAD~n or #n.
func (c *Client) Entry(ctx context.Context, id firn.ID, ref string, html bool) (wire.Entry, error) {
	return ask[wire.Entry](ctx, c.conn, get(sessionPath(id, "entries", ref)...).with("as", formatParam(html)))
}

// maxImage is the maximum size of an image in bytes.
const maxImage = 64 << 20

// Image returns image n of an entry, from 1, and its type.
func (c *Client) Image(ctx context.Context, id firn.ID, ref string, n int) ([]byte, string, error) {
	r := get(sessionPath(id, "entries", ref, "images", strconv.Itoa(n))...)
	response, err := c.send(ctx, r, nil, "image/*")
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxImage+1))
	if err != nil {
		return nil, "", c.connectionError(ctx, r, err)
	}
	if len(data) > maxImage {
		return nil, "", fmt.Errorf("read image of session %s: more than %d bytes: %w", id, maxImage, firn.ErrTooLarge)
	}
	return data, response.Header.Get("Content-Type"), nil
}

// PageEvents is Events for a page: entries arrive as cards, and a streaming answer as HTML
// updates.
func (c *Client) PageEvents(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return c.events(ctx, id, after, true)
}
