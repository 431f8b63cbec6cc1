package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"firn.dev/client"
	"firn.dev/wire"
)

// All sessions of a home are searched by the gateway that serves it (firn serve), because
// only the gateway has the index.
func ExampleClient_Search() {
	ctx := context.Background()
	user, _ := os.UserHomeDir()
	address, ok := client.Find(ctx, filepath.Join(user, ".firn"), nil)
	if !ok {
		fmt.Println("no gateway serves that home")
		return
	}
	c, err := client.New(client.Options{Address: address})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	found, err := c.Search(ctx, wire.SearchQuery{Query: "flaky test role:user", Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hit := range found.Items {
		fmt.Println(hit.Session, hit.Time.Format("2006-01-02"), hit.Snippet)
	}
}
