package agent_test

import (
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/tool"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

// TestPreviewEqualsNextRequest checks that the previewed request is the one that is sent next.
func TestPreviewEqualsNextRequest(t *testing.T) {
	for name, habits := range map[string]func(*agent.Agent){
		"plain":     func(*agent.Agent) {},
		"few turns": func(a *agent.Agent) { a.Turns = 2 },
		"few results": func(a *agent.Agent) {
			a.ResultBudget = 100
			a.Tools = []tool.Tool{tool.Now(nil)}
		},
		"a small window": func(a *agent.Agent) {
			info := scripted.Info()
			info.Window = 3000
			a.Model = scripted.New(info, scripted.Reply("done"))
			a.Compaction.Mode = "off"
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := memstore.New(memstore.Options{})
			model := scripted.New(provider.Info{}, scripted.Reply("done"))
			a := &agent.Agent{Store: st, Model: model, System: "Be brief.", NoTitles: true, Thinking: provider.ThinkLow}
			habits(a)
			var entries []firn.Entry
			for range 8 {
				entries = append(entries, firn.UserText(strings.Repeat("asks ", 200)), firn.AssistantText(strings.Repeat("says ", 200)))
			}
			entries = append(entries, firn.NewEntry(&firn.ThinkingChange{Level: "high"}), firn.UserText("well?"))
			if _, err := st.Append(t.Context(), "s", store.Start, entries...); err != nil {
				t.Fatal(err)
			}
			path, err := window.Collect(st.ReadBack(t.Context(), "s", store.End))
			if err != nil {
				t.Fatal(err)
			}
			p, err := a.Preview("s", path)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range a.Run(t.Context(), "s", agent.Input{}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			asked := a.Model.(*scripted.Model).Requests()[0]
			if diff := cmp.Diff(asked, p.Request, cmp.AllowUnexported(window.Item{})); diff != "" {
				t.Errorf("the sent and the previewed request differ: %s", diff)
			}
			if p.Thinking != provider.ThinkHigh || p.Tokens <= 0 || p.Info.Window <= 0 || p.Notice != "" {
				t.Errorf("the preview is %+v", p)
			}
		})
	}
}

func TestPreviewWithoutAModel(t *testing.T) {
	a := &agent.Agent{Store: memstore.New(memstore.Options{})}
	if _, err := a.Preview("s", window.Path{}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("without a model the error is %v", err)
	}
	a.Model = scripted.New(provider.Info{})
	a.Models = func(string, string) (provider.Model, error) { return nil, firn.ErrNotFound }
	p, err := a.Preview("s", window.Path{Chosen: firn.State{Provider: "far", Model: "away"}})
	if err != nil || !strings.Contains(p.Notice, "far/away") || len(p.Request.Window.Items) != 0 {
		t.Errorf("with a model that no longer exists the preview is %+v (%v)", p, err)
	}
}
