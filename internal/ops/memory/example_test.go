package memory_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"firn.dev/internal/ops/memory"
)

// A folder of notes and a recall from it.
func Example() {
	root, err := os.MkdirTemp("", "notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	day := func() time.Time { return time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC) }
	ctx := context.Background()
	notes := memory.Open(root, memory.Options{Clock: day})
	if _, err := notes.Remember(ctx, memory.Draft{Text: "Releases are on Fridays.", Type: "decision"}); err != nil {
		fmt.Println(err)
		return
	}
	hits, err := memory.Shelf{Agent: notes}.Recall(ctx, "When is the next release?", memory.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(memory.FormatHits(hits))
	// Output:
	// [1] note agent/2026-08-01#e8e3c142, decision, 2026-08-01
	//   Releases are on Fridays.
}
