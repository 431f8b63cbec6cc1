package store_test

import (
	"context"
	"fmt"

	"firn"
	"firn/store"
	"firn/store/memstore"
)

func ExampleLoadOrCreate() {
	ctx := context.Background()
	s := memstore.New(memstore.Options{})
	defer s.Close()

	// Every message from the same place belongs to the same session.
	for _, text := range []string{"hello", "are you still there?"} {
		id, err := store.LoadOrCreate(ctx, s, "agent:main:dm:anna")
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, err := s.Append(ctx, id, store.Any, firn.UserText(text)); err != nil {
			fmt.Println(err)
			return
		}
	}

	for info, err := range s.List(ctx, store.Query{Key: "agent:main:dm:anna"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s's session began with %q\n", info.Agent, info.Prompt)
		for record, err := range s.Read(ctx, info.ID, store.Start) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(record.At, record.Glance.Kind)
		}
	}
	// Output:
	// main's session began with "hello"
	// 0 session
	// 1 message
	// 2 message
}
