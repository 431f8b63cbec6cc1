package cli

import (
	"context"
	"io"
)

// input returns a reader of stdin that fails when ctx is canceled, even while a read
// blocks. It does not report a clean EOF after an interrupt, because Ctrl-C also stops the
// writer of a pipe in the middle of its output.
func (p *program) input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	go func() { // if stdin never ends, it ends with the process
		defer stop()
		_, err := io.Copy(w, p.stdin)
		if gone := ctx.Err(); gone != nil {
			err = gone
		}
		w.CloseWithError(err)
	}()
	return r
}
