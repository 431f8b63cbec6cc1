package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/provider/offline"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/memstore"
	"firn.dev/tool"
)

// ask runs a turn and returns the answer.
func ask(ctx context.Context, a *agent.Agent, id firn.ID, text string) (agent.Outcome, error) {
	for event, err := range a.Run(ctx, id, agent.TextInput(text)) {
		if err != nil {
			return agent.Outcome{}, err
		}
		if end, ok := event.(agent.Finished); ok {
			return end.Outcome, nil
		}
	}
	return agent.Outcome{}, nil
}

// A complete agent: a store, the session of a key, a model, a tool, and turns. Running it
// again continues the session, even after it was killed.
func Example() {
	ctx := context.Background()
	home, _ := os.MkdirTemp("", "firn")
	defer os.RemoveAll(home)
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()
	a := &agent.Agent{Store: st, Model: offline.New(offline.Options{}), Tools: []tool.Tool{tool.Calc()}}
	defer a.Close()

	id, err := store.LoadOrCreate(ctx, st, "agent:main:main")
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range a.Run(ctx, id, agent.TextInput("What is 6*7?")) {
		switch e := event.(type) {
		case agent.ToolStarted:
			fmt.Println("calls", e.Name)
		case agent.Finished:
			fmt.Println(e.Text)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// calls calc
	// 6*7 = 42
}

// Move continues from an earlier entry. The entries after it stay in the session, on their own
// branch.
func ExampleAgent_Move() {
	ctx := context.Background()
	a := &agent.Agent{Store: memstore.New(memstore.Options{}), Model: offline.New(offline.Options{}), NoTitles: true}
	defer a.Close()

	first, _ := ask(ctx, a, "s", "My dog is called Bello.")
	_, _ = ask(ctx, a, "s", "My cat is called Mia.")
	if _, err := a.Move(ctx, "s", first.Entry, false); err != nil {
		fmt.Println(err)
	}
	answer, _ := ask(ctx, a, "s", "What is my dog called?")
	fmt.Println(answer.Text)
	// Output:
	// You said: “My dog is called Bello.”
}

// A compaction replaces older entries with a summary. It is an additional entry, and hiding
// it restores the previous window.
func ExampleAgent_CompactWith() {
	ctx := context.Background()
	st := memstore.New(memstore.Options{})
	a := &agent.Agent{Store: st, Model: offline.New(offline.Options{}), NoTitles: true}
	defer a.Close()

	for _, text := range []string{"My dog is called Bello.", "My cat is called Mia.", "My cow is called Olga."} {
		_, _ = ask(ctx, a, "s", text+strings.Repeat(" It likes to be out in the snow.", 100))
	}
	_, err := a.Compact(ctx, "s", "")
	fmt.Println("too short:", errors.Is(err, compact.ErrNothing))
	done, err := a.CompactWith(ctx, "s", agent.CompactOptions{KeepRecent: 1})
	fmt.Println("compacted:", done.Count, err)
	_, err = compact.Undo(ctx, st, "s", done.Entry.ID)
	fmt.Println("undone:", err)
	// Output:
	// too short: true
	// compacted: 1 <nil>
	// undone: <nil>
}

// The kind of a failure determines how to handle it.
func ExampleAgent_Run_failure() {
	ctx := context.Background()
	model := scripted.New(scripted.Info(), scripted.Fail(&provider.Error{Kind: provider.Auth, Provider: "acme", Model: "m1", Message: "who are you?"}))
	a := &agent.Agent{Store: memstore.New(memstore.Options{}), Model: model, NoTitles: true}
	defer a.Close()

	_, err := ask(ctx, a, "s", "Hello?")
	switch {
	case provider.KindOf(err) == provider.Auth:
		fmt.Println("look at the key:", err)
	case errors.Is(err, firn.ErrNotSaved):
		fmt.Println("is the disk full?", err)
	}
	// Output:
	// look at the key: acme/m1: API key rejected: who are you?
}
