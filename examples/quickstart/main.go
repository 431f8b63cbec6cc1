// Command quickstart keeps a conversation across restarts. Run it twice: the
// second time it remembers the first.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"firn"
	"firn/store"
	"firn/store/filestore"
	"firn/window"
)

func main() {
	if err := remember(context.Background(), os.Stdout, "quickstart-home"); err != nil {
		log.Fatal(err)
	}
}

// remember appends one exchange to the session of a key, and prints what a
// model would be sent next.
func remember(ctx context.Context, out io.Writer, home string) error {
	// README: begin
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	id, err := store.LoadOrCreate(ctx, st, "agent:main:main") // the session of this key, new or not
	if err != nil {
		return err
	}
	_, err = st.Append(ctx, id, store.Any, firn.UserText("hello"), firn.AssistantText("hi there"))
	if err != nil { // nil means: on disk
		return err
	}
	path, err := window.Collect(st.ReadBack(ctx, id, store.End)) // reads only what is still live
	if err != nil {
		return err
	}
	w := window.Build(path, window.Options{Profile: window.Anthropic()}) // valid for the provider, whatever happened
	// README: end
	fmt.Fprintf(out, "session %s: %d messages, ~%d tokens\n", id, len(w.Items), w.Tokens.Total)
	return nil
}
