package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/anthropic"
	"firn.dev/store/memstore"
)

// An agent with an Anthropic model. The program supplies the API key; the store saves the
// messages, as with any other model.
func Example() {
	model := anthropic.New(anthropic.Options{Name: "claude-sonnet-4-5", Key: os.Getenv("ANTHROPIC_API_KEY")})
	a := &agent.Agent{Store: memstore.New(memstore.Options{}), Model: model, System: "Answer in one sentence."}
	defer a.Close()
	for event, err := range a.Run(context.Background(), "s", agent.TextInput("Why is firn called so?")) {
		if provider.KindOf(err) == provider.Auth {
			fmt.Println("the key is wrong, or there is none")
		}
		if text, ok := event.(agent.Delta); ok {
			fmt.Print(text.Text)
		}
	}
}

// Other services with the same API are used with their own URL and name.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `event: message_start
data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"house","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is old snow."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`)
	}))
	defer server.Close()
	model := anthropic.New(anthropic.Options{
		Name: "house", Provider: "our-own", Key: "none is needed", URL: server.URL,
		Spec: provider.Spec{Window: 32_000, MaxOutput: 4_000},
	})
	a := &agent.Agent{Store: memstore.New(memstore.Options{}), Model: model, NoTitles: true}
	defer a.Close()
	for event, err := range a.Run(context.Background(), "s", agent.TextInput("Why is firn called so?")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if end, ok := event.(agent.Finished); ok {
			fmt.Println(end.Text)
			fmt.Println(end.Usage.Input, "tokens in,", end.Usage.Output, "out")
		}
	}
	// Output:
	// It is old snow.
	// 3 tokens in, 5 out
}
