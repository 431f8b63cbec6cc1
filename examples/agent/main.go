// Command agent runs an agent with a tool, on a session that survives restarts. Run it
// twice: the second time it remembers the first conversation.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"firn.dev/agent"
	"firn.dev/provider/offline"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/tool"
)

func main() {
	if err := talk(context.Background(), os.Stdout, "agent-home", "Hello, my name is Ada.", "What is 12*7?", "What is my name?"); err != nil {
		log.Fatal(err)
	}
}

// talk sends messages to the agent of a key and prints the answers.
func talk(ctx context.Context, out io.Writer, home string, messages ...string) error {
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	id, err := store.LoadOrCreate(ctx, st, "agent:main:main")
	if err != nil {
		return err
	}
	// README: begin
	a := &agent.Agent{
		Store: st, Model: offline.New(offline.Options{}), // or anthropic.New, openai.NewChat, openai.NewResponses
		System: "You are brief.", Tools: []tool.Tool{tool.Calc()},
	}
	defer a.Close()
	for _, text := range messages {
		for event, err := range a.Run(ctx, id, agent.TextInput(text)) { // on disk before the model is called
			if err != nil {
				return err // recorded; the next turn continues
			}
			if d, ok := event.(agent.Delta); ok {
				fmt.Fprint(out, d.Text)
			}
		}
		fmt.Fprintln(out)
	}
	// README: end
	return nil
}
