package compact_test

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
)

// A compaction replaces older messages in the window, and Undo restores them. Without a
// model the summary is made by extracting sentences.
func Example() {
	ctx := context.Background()
	st := memstore.New(memstore.Options{})
	defer st.Close()
	id, err := store.LoadOrCreate(ctx, st, "agent:main:main")
	for i := range 40 {
		text := fmt.Sprintf("Note %d: %s", i, strings.Repeat("the harbour was closed again. ", 20))
		if err == nil {
			_, err = st.Append(ctx, id, store.Any, firn.UserText(text), firn.AssistantText("Understood."))
		}
	}
	messages := func() int {
		path, err := window.Collect(st.ReadBack(ctx, id, store.End))
		if err != nil {
			fmt.Println(err)
		}
		return len(window.Build(path, window.Options{Profile: window.Anthropic()}).Items)
	}
	before := messages()
	if err == nil {
		_, err = compact.Run(ctx, compact.Job{Store: st, Session: id, Window: 8000, Reason: compact.Manual, Settings: compact.Settings{KeepRecent: 500}})
	}
	fmt.Println(err, messages() < before)
	_, err = compact.Undo(ctx, st, id, "")
	fmt.Println(err, messages() == before)
	// Output:
	// <nil> true
	// <nil> true
}
