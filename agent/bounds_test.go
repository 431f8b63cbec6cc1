package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

const canary = "canary-7f3a"

// keyed creates a session under a key that contains the canary and the key.
func keyed(t *testing.T, st store.Store, key string) firn.ID {
	t.Helper()
	id := firn.NewID()
	_, err := st.Append(t.Context(), id, store.Start, firn.Entry{Body: &firn.Header{Session: id, Agent: "main", Key: key}},
		firn.NewEntry(&firn.Title{Name: canary + " title"}), firn.UserText(canary+" said"), firn.AssistantText(canary+" answered"))
	if err == nil {
		if k, ok := store.As[store.Keyed](st); ok {
			err = k.Bind(t.Context(), key, id)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// within returns an input with bounds.
func within(bounds route.Bounds) agent.Input {
	in := agent.TextInput("go")
	in.Bounds = bounds
	return in
}

// TestSessionToolsWithinBounds checks that a turn with bounds cannot distinguish a session
// outside them from a missing one, even through a turn in another session; the owner's turn
// can.
func TestSessionToolsWithinBounds(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store, _ string) {
		private := keyed(t, st, "agent:main:private")
		own := keyed(t, st, "agent:main:own:a")
		calls := func(name string) []scripted.Step {
			missing := strings.Repeat("0", len(private))
			var steps []scripted.Step
			for i, ref := range []string{string(private), "agent:main:private", missing, "agent:main:nothing"} {
				steps = append(steps, scripted.Call(fmt.Sprint("h", i), "sessions_history", fmt.Sprintf(`{"session":%q}`, ref)),
					scripted.Call(fmt.Sprint("s", i), "sessions_send", fmt.Sprintf(`{"session":%q,"message":"hello"}`, ref)))
			}
			return append(steps, scripted.Call("l", "sessions_list", `{}`), scripted.Reply(name))
		}
		for name, bounds := range map[string]route.Bounds{
			"nothing": {}, "its key": route.BoundTo(nil, []string{"agent:main:own"}), "another agent": route.BoundTo([]string{"work"}, nil), "owner": route.Everything(),
		} {
			b := play(t, calls(name)...)
			if name == "owner" { // the sessions that it messages reply
				b = play(t, scripted.Call("h", "sessions_history", fmt.Sprintf(`{"session":%q}`, private)), scripted.Call("l", "sessions_list", `{}`), scripted.Reply(name))
			}
			b.Store, b.Tools = st, b.SessionTools()
			if name == "its key" {
				b.id = own
			}
			if _, err := b.run(t.Context(), within(bounds)); err != nil {
				t.Fatal(name, err)
			}
			results := b.results()
			if name == "owner" {
				if !strings.Contains(results[0], canary+" said") || !strings.Contains(results[1], string(private)) {
					t.Errorf("the owner receives %q", results)
				}
				continue
			}
			if list := results[8]; strings.Contains(list, string(private)) || (name == "its key") != strings.Contains(list, string(own)) {
				t.Errorf("%s: the list is %q", name, list)
			}
			for i := range 4 { // existing and missing sessions give the same message
				if got, want := blind(results[i], string(private), "agent:main:private"), blind(results[i+4], strings.Repeat("0", len(private)), "agent:main:nothing"); got != want {
					t.Errorf("%s: %q, and of none %q", name, got, want)
				}
			}
			if name != "its key" && strings.Contains(strings.Join(results, ""), canary) {
				t.Errorf("%s: %q", name, results)
			}
		}
	})
}

func blind(text string, names ...string) string {
	for _, name := range names {
		text = strings.ReplaceAll(text, name, "X")
	}
	return text
}

// TestChildHasItsParentsBounds: a turn that a turn begins, in a session of its own, has
// the bounds of the one that began it.
func TestChildHasItsParentsBounds(t *testing.T) {
	for name, bounds := range map[string]route.Bounds{"nothing": {}, "a key": route.BoundTo(nil, []string{"agent:main:own"}), "owner": route.Everything()} {
		var seen []route.Bounds
		b := playOn(t, asked(func(req provider.Request, message string) scripted.Step {
			switch message {
			case "go":
				return spawn("look", "")
			case "look":
				return scripted.Call("1", "look", `{}`)
			}
			return scripted.Reply("done")
		}))
		look := tool.Func("look", "", nil, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
			seen = append(seen, agent.BoundsOf(ctx))
			return tool.TextResult("seen"), nil
		})
		b.Tools = append(b.SessionTools(), look)
		if _, err := b.run(t.Context(), within(bounds)); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 1 || fmt.Sprint(seen[0]) != fmt.Sprint(bounds) {
			t.Errorf("%s: the child may see %v", name, seen)
		}
	}
}

// TestBoundsNarrow checks that unanswered messages before a turn and messages during it
// narrow its bounds to the intersection.
func TestBoundsNarrow(t *testing.T) {
	content := func(text, by string) firn.Entry {
		e := firn.UserText(text)
		e.Extra = firn.Fields{{Name: "by", Value: []byte(`"` + by + `"`)}}
		return e
	}
	of := map[string]route.Bounds{`"a"`: route.BoundTo(nil, []string{"agent:main:a"}), `"ab"`: route.BoundTo(nil, []string{"agent:main:a:b"})}
	var b *workbench
	var seen []route.Bounds
	b = play(t, scripted.Call("1", "look", `{}`), scripted.Call("2", "look", `{}`), scripted.Call("3", "look", `{}`), scripted.Reply("done"), scripted.Call("4", "look", `{}`), scripted.Reply("done"))
	b.Tools = []tool.Tool{tool.Func("look", "", nil, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		seen = append(seen, agent.BoundsOf(ctx))
		if len(seen) == 1 {
			if _, err := b.Store.Append(ctx, b.id, store.Any, content("more", "ab")); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.TextResult("seen"), nil
	})}
	if _, err := b.Store.Append(t.Context(), b.id, store.Start, firn.Entry{Body: &firn.Header{Session: b.id}}, content("one", "a")); err != nil {
		t.Fatal(err)
	}
	injected := []string{}
	b.Hooks.BeforeRun = func(_ context.Context, run agent.Run) ([]window.Injection, error) {
		injected = append(injected, fmt.Sprint(run.Bounds))
		return agent.Recalled("for " + fmt.Sprint(run.Bounds)), nil
	}
	in := agent.TextInput("two")
	in.Narrow = func(_ context.Context, e firn.Entry) route.Bounds {
		if bounds, ok := of[string(e.Extra.Get("by"))]; ok {
			return bounds
		}
		return route.Everything()
	}
	for range 2 { // the second turn answers messages without bounds
		if _, err := b.run(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		in.Parts = []firn.Part{firn.Text{Text: "three"}}
	}
	if got, want := fmt.Sprint(seen), fmt.Sprint([]route.Bounds{of[`"a"`], of[`"ab"`], of[`"ab"`], route.Everything()}); got != want {
		t.Errorf("the bounds were %s, want %s", got, want)
	}
	// Injections from before the narrowing are not sent afterwards.
	for i, req := range b.model.Requests() {
		want := fmt.Sprint([]route.Bounds{of[`"a"`], of[`"ab"`], of[`"ab"`], of[`"ab"`], route.Everything(), route.Everything()}[i])
		sent := fmt.Sprint(req.Window.Items)
		for _, other := range injected {
			if strings.Contains(sent, "for "+other+"\n") != (other == want) {
				t.Errorf("request %d has %s, want %s", i, other, want)
			}
		}
	}
}
