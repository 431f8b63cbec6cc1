package cli

import (
	"context"
	"io"
)

// input is what comes on stdin, for as long as it is wanted: reading it ends when ctx
// does, also while nobody writes anything. What came until then is not taken for the
// whole: who is interrupted stops the writer of a pipe too, in the middle.
func (p *program) input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	go func() { // if nobody ever writes, it ends with the process
		defer stop()
		_, err := io.Copy(w, p.stdin)
		if gone := ctx.Err(); gone != nil {
			err = gone
		}
		w.CloseWithError(err)
	}()
	return r
}
