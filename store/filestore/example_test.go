package filestore_test

import (
	"context"
	"fmt"
	"os"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// A session survives closing and reopening its store.
func Example() {
	ctx := context.Background()
	home, err := os.MkdirTemp("", "firn")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	for _, text := range []string{"hello", "hello again"} {
		st, err := filestore.Open(home, filestore.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		id, err := store.LoadOrCreate(ctx, st, "agent:main:main")
		if err == nil {
			_, err = st.Append(ctx, id, store.Any, firn.UserText(text))
		}
		for record, readErr := range st.Read(ctx, id, store.Start) {
			if entry, entryErr := record.Entry(); readErr == nil && entryErr == nil && record.Glance.Kind == firn.KindMessage {
				fmt.Println(entry.Body.(*firn.Message).Text())
			}
		}
		fmt.Println(err, st.Close())
	}
	// Output:
	// hello
	// <nil> <nil>
	// hello
	// hello again
	// <nil> <nil>
}
