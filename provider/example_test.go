package provider_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/window"
)

// Ask streams an answer and retries temporary failures.
func ExampleAsk() {
	busy := &provider.Error{Kind: provider.Temporary, Err: errors.New("overloaded")}
	model := scripted.New(scripted.Info(), scripted.Fail(busy), scripted.Reply("In May."))
	path := window.Path{Entries: []firn.Entry{firn.NewEntry(firn.UserText("When is the trip to Rome?").Body)}}
	request := provider.Request{Window: window.Build(path, window.Options{Profile: model.Info().Profile})}

	answer, err := provider.Ask(context.Background(), model, request, provider.Backoff{Base: time.Millisecond}, func(e provider.Event) error {
		if _, ok := e.(provider.Retrying); ok {
			fmt.Println("retrying")
		}
		return nil
	})
	fmt.Println(answer.Text(), err)
	// Output:
	// retrying
	// In May. <nil>
}
