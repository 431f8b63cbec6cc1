package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"firn.dev"
	"firn.dev/wire"
)

// Stored yields the content of the gateway's store: every session, including removed ones,
// and then every key. It requires the scope admin.
func (c *Client) Stored(ctx context.Context) iter.Seq2[wire.StoreLine, error] {
	return func(yield func(wire.StoreLine, error) bool) {
		r := get("v1", "store")
		for raw, err := range c.lines(ctx, r) {
			var line wire.StoreLine
			if err == nil {
				if err = json.Unmarshal(raw, &line); err != nil {
					err = c.eventError(r, err)
				}
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// StoredLines yields the stored lines of a session, without their newlines. A line is valid
// until the next one. It requires the scope admin.
func (c *Client) StoredLines(ctx context.Context, id firn.ID) iter.Seq2[[]byte, error] {
	return c.lines(ctx, get("v1", "store", string(id)))
}

// OpenStored opens the stored lines of a session as one file. If the connection breaks,
// reading returns an error. It requires the scope admin.
func (c *Client) OpenStored(ctx context.Context, id firn.ID) (io.ReadCloser, error) {
	r := get("v1", "store", string(id))
	if err := r.check(); err != nil {
		return nil, err
	}
	response, err := c.send(ctx, r, nil, typeLines)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// lines yields the lines of a response, without their newlines. If the connection breaks,
// it yields an error.
func (c *conn) lines(ctx context.Context, r request) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := r.check(); err != nil {
			yield(nil, err)
			return
		}
		response, err := c.send(ctx, r, nil, typeLines)
		if err != nil {
			yield(nil, err)
			return
		}
		defer response.Body.Close()
		in := bufio.NewReaderSize(response.Body, 64<<10)
		var line []byte
		for {
			piece, err := in.ReadSlice('\n')
			line = append(line, piece...)
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				continue
			case errors.Is(err, io.EOF) && len(line) == 0:
				return
			case errors.Is(err, io.EOF):
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				yield(nil, c.connectionError(ctx, r, err))
				return
			}
			if !yield(bytes.TrimSuffix(line, []byte{'\n'}), nil) {
				return
			}
			line = line[:0]
		}
	}
}
