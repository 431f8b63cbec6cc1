package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// BenchmarkTurn runs turns with a model that answers immediately, on a live part of about
// 20,000 tokens, without syncing to disk.
func BenchmarkTurn(b *testing.B) {
	st, err := filestore.Open(b.TempDir(), filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	id := firn.NewID()
	var entries []firn.Entry
	for i := range 150 {
		entries = append(entries, firn.UserText(fmt.Sprintf("asked %d", i)), firn.AssistantText(strings.Repeat("All work and no play. ", 25)))
	}
	if _, err := st.Append(b.Context(), id, store.Start, entries...); err != nil {
		b.Fatal(err)
	}
	info := scripted.Info()
	a := &agent.Agent{Store: st, Model: scripted.New(info, scripted.Forever(scripted.Reply("Fine."))), NoTitles: true, Turns: 100}
	defer a.Close()
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range a.Run(context.Background(), id, agent.TextInput("How are you?")) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
