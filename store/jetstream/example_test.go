package jetstream_test

import (
	"context"
	"fmt"
	"os"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/jetstream"
)

// A store on a server in this process. A cluster is opened with its URL instead.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "firn")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	server, err := jetstream.NewServer(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	st, err := jetstream.Open(ctx, jetstream.Options{Server: server, Shards: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()
	id, err := store.LoadOrCreate(ctx, st, "agent:main:main")
	if err == nil {
		_, err = st.Append(ctx, id, store.Any, firn.UserText("hello"))
	}
	fmt.Println(err)
	// Output: <nil>
}
