package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"firn.dev/agent"
	"firn.dev/provider/scripted"
	"firn.dev/tool"
)

// TestToolProgress checks that output of a running tool is emitted between its start and its
// end, and that the end has the details of the result.
func TestToolProgress(t *testing.T) {
	b := play(t, scripted.Call("1", "build", `{}`), scripted.Reply("Built."))
	b.Tools = []tool.Tool{tool.New("build", "", func(ctx context.Context, _ struct{}) (tool.Result, error) {
		tool.Progress(ctx, "half")
		tool.Progress(ctx, "whole")
		r := tool.TextResult("half whole")
		r.Details = json.RawMessage(`{"diff":"x"}`)
		return r, nil
	})}
	var got []string
	for e, err := range b.Run(t.Context(), b.id, agent.TextInput("go")) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case agent.ToolStarted:
			got = append(got, "started "+e.Call)
		case agent.ToolProgress:
			got = append(got, e.Call+" "+e.Name+" "+e.Text)
		case agent.ToolDone:
			got = append(got, "done "+e.Text+string(e.Details))
		}
	}
	want(t, strings.Join(got, "\n"), "started 1", "1 build half", "1 build whole", `done half whole{"diff":"x"}`)
}
