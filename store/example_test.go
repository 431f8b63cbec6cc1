package store_test

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

func ExampleLoadOrCreate() {
	ctx := context.Background()
	s := memstore.New(memstore.Options{})
	defer s.Close()

	// All messages with the same key belong to the same session.
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

// Without a gateway there is no index, so a text search reads the sessions one by one: newest
// session first, each from its end.
func ExampleStore_search() {
	ctx := context.Background()
	s := memstore.New(memstore.Options{})
	defer s.Close()
	for id, text := range map[firn.ID]string{"a": "Plan a trip to Oslo.", "b": "Fix the flaky test."} {
		header := firn.NewEntry(&firn.Header{Session: id})
		if _, err := s.Append(ctx, id, store.Any, header, firn.UserText(text)); err != nil {
			fmt.Println(err)
			return
		}
	}

	for info, err := range s.List(ctx, store.Query{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for record, err := range s.ReadBack(ctx, info.ID, store.End) {
			if err != nil {
				fmt.Println(err)
				return
			}
			entry, err := record.Entry()
			if err != nil {
				continue // skip damaged lines
			}
			if m, ok := entry.Body.(*firn.Message); ok && strings.Contains(strings.ToLower(m.Text()), "flaky") {
				fmt.Println(info.ID, m.Text())
			}
		}
	}
	// Output:
	// b Fix the flaky test.
}
