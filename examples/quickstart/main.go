// Command quickstart keeps a conversation across restarts. Run it twice: the
// second time it remembers the first.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
)

func main() {
	if err := remember(context.Background(), os.Stdout, "quickstart-home"); err != nil {
		log.Fatal(err)
	}
}

// remember adds one exchange to the session of a key and prints the answer.
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
	if _, err = st.Append(ctx, id, store.Any, firn.UserText("hello")); err != nil { // nil means: on disk
		return err
	}
	path, err := window.Collect(st.ReadBack(ctx, id, store.End)) // reads only the live part
	if err != nil {
		return err
	}
	w := window.Build(path, window.Options{Profile: window.Anthropic()}) // a request the provider accepts, whatever happened
	answer := ask(w)                                                     // your model
	// Fails if another writer has appended meanwhile.
	if _, err = st.Append(ctx, id, path.End, firn.AssistantText(answer)); err != nil {
		return err
	}
	// README: end
	fmt.Fprintf(out, "session %s: %s\n", id, answer)
	return nil
}

// ask is a placeholder for a model call.
func ask(w window.Window) string {
	return fmt.Sprintf("I was sent %d messages, about %d tokens", len(w.Items), w.Tokens.Total)
}
