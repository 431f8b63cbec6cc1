package scripted_test

import (
	"context"
	"fmt"

	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

// A script answers one step per request, here a tool call and then text.
func Example() {
	model := scripted.New(scripted.Info(), scripted.Call("call_1", "calc", `{"expression":"6*7"}`), scripted.Reply("It is 42."))
	for range 2 {
		answer, err := provider.Ask(context.Background(), model, provider.Request{}, provider.Backoff{}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q\n", answer.StopReason, answer.Text())
	}
	// Output:
	// toolUse ""
	// stop "It is 42."
}
