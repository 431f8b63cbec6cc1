package offline_test

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/offline"
	"firn.dev/window"
)

// The offline model needs no key and no network. It quotes earlier messages.
func Example() {
	model := offline.New(offline.Options{})
	text := []firn.Entry{
		firn.NewEntry(firn.UserText("The shop uses Postgres.").Body),
		firn.NewEntry(firn.AssistantText("Noted.").Body),
		firn.NewEntry(firn.UserText("What did I say about Postgres?").Body),
	}
	for i := range text[1:] {
		text[i+1].Parent = text[i].ID
	}
	request := provider.Request{Window: window.Build(window.Path{Entries: text}, window.Options{Profile: model.Info().Profile})}
	answer, err := provider.Ask(context.Background(), model, request, provider.Backoff{}, nil)
	fmt.Println(strings.Contains(answer.Text(), "Postgres"), err)
	// Output: true <nil>
}
