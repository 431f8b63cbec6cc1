package gateway

import (
	"errors"
	"net/textproto"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/store"
	"firn.dev/wire"
)

// TestHookText checks the conversion of bodies to messages.
func TestHookText(t *testing.T) {
	const asJSON = "application/json; charset=utf-8"
	for name, c := range map[string]struct {
		template, kind, body string
		want                 string
		kindOf               wire.Kind
	}{
		"the usual":              {"", asJSON, `{"text":" hello "}`, "hello", ""},
		"without a kind":         {"", "", `{"text":"hello"}`, "hello", ""},
		"plain text":             {"", "text/plain", `{"text"`, `{"text"`, ""},
		"a path":                 {"{{.a.b}} {{index .list 1}}", asJSON, `{"a":{"b":"x"},"list":[1,2]}`, "x 2", ""},
		"a list":                 {"{{range .commits}}- {{.message}}\n{{end}}", asJSON, `{"commits":[{"message":"a"},{"message":"b"}]}`, "- a\n- b", ""},
		"numbers as they were":   {"{{.n}} {{.big}}", asJSON, `{"n":1.50,"big":123456789012345678901}`, "1.50 123456789012345678901", ""},
		"missing field":          {"a{{.no}}b{{with .no}}c{{end}}", asJSON, `{}`, "ab", ""},
		"a format":               {`{{printf "%05s|%q" .n .s}}`, asJSON, `{"n":7,"s":"x"}`, `00007|"x"`, ""},
		"not JSON":               {"", asJSON, `text=hello`, "", wire.Invalid},
		"a member twice":         {"", asJSON, `{"text":"a","text":"b"}`, "", wire.Invalid},
		"a member twice below":   {"", asJSON, `{"text":"a","x":[{"y":1,"y":1}]}`, "", wire.Invalid},
		"two":                    {"", asJSON, `{"text":"a"} {}`, "", wire.Invalid},
		"nothing":                {"", asJSON, `{"message":"hello"}`, "", wire.Invalid},
		"another shape":          {"{{.a.b}}", asJSON, `{"a":1}`, "", wire.Invalid},
		"a list where none is":   {"{{.text}}", asJSON, `["a"]`, "", wire.Invalid},
		"not UTF-8":              {"", "text/plain", "a\xff", "", wire.Invalid},
		"to be counted up to":    {"{{range .n}}{{end}}x", asJSON, `{"n":9000000000000000000}`, "", wire.Invalid},
		"a wide format":          {`{{printf .f 1}}`, asJSON, `{"f":"%99999d"}`, "", wire.Invalid},
		"a format of any width":  {`{{printf .f 1 2}}`, asJSON, `{"f":"%*d"}`, "", wire.Invalid},
		"a long format":          {`{{printf .f 1}}`, asJSON, `{"f":"` + strings.Repeat("%100d", 300) + `"}`, "", wire.Invalid},
		"too long a message":     {"{{range .l}}{{$.t}}{{end}}", asJSON, `{"t":"` + strings.Repeat("x", 1000) + `","l":[` + strings.Repeat("1,", 100) + `1]}`, "", wire.TooLarge},
		"too long a body":        {"", asJSON, `{"text":"a","x":"` + strings.Repeat("x", MaxHookBody) + `"}`, "", wire.TooLarge},
		"nothing can be called":  {"{{call .f}}", asJSON, `{"f":"os.Exit"}`, "", wire.Invalid},
		"a template within data": {"{{.text}}", asJSON, `{"text":"{{.token}}"}`, "{{.token}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Hook{Template: c.template}.text([]byte(c.body), c.kind)
			if got != c.want || (err != nil) != (c.kindOf != "") {
				t.Errorf("it is %q, %v, want %q", got, err, c.want)
			}
			if err != nil && kindOfHook(err) != c.kindOf {
				t.Errorf("%v is %s, want %s", err, kindOfHook(err), c.kindOf)
			}
		})
	}
}

// call calls a hook.
func (o *jobGateway) call(name, body string, headers ...string) wire.Routed {
	o.t.Helper()
	h := textproto.MIMEHeader{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	out, err := o.Hook(o.t.Context(), name, []byte(body), h)
	if err != nil {
		o.t.Fatal(err)
	}
	return out
}

func hooked(hooks map[string]Hook) func(*Setup) {
	return func(s *Setup) {
		s.Agents["ops"] = &agent.Agent{Name: "ops", Store: s.Agents["main"].Store, Model: s.Agents["main"].Model, NoTitles: true}
		s.Hooks = hooks
	}
}

// TestHook calls a hook twice: each call has its own session.
func TestHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Now(), hooked(map[string]Hook{"deploy": {Agent: "ops", Template: "Deployed {{.what}}.", Enabled: true, Token: "ci"}}))
		one, two := o.call("deploy", `{"what":"a"}`), o.call("deploy", `{"what":"b"}`)
		if one.Session == two.Session || one.Key == two.Key || !strings.HasPrefix(one.Key, "agent:ops:hook:") || one.Deliver {
			t.Errorf("the calls gave %+v and %+v", one, two)
		}
		o.close()
		if got := spoken(t, o.st, one.Session); got != "hook:deploy: Deployed a.\nassistant: done: Deployed a." {
			t.Errorf("the log is:\n%s", got)
		}
		if token, err := o.HookToken("deploy"); token != "ci" || err != nil {
			t.Errorf("its token is %q, %v", token, err)
		}
	})
}

// TestRepeatedHookCall repeats a call with an ID, also while it is queued.
func TestRepeatedHookCall(t *testing.T) {
	for name, key := range map[string]string{"its own": "", "one for all": "main"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newJobGateway(t, inMemory(), time.Now(), hooked(map[string]Hook{"x": {Key: key, Enabled: true}, "y": {Key: key, Enabled: true}}))
				release := o.block()
				first := o.call("x", `{"text":"a"}`, "X-GitHub-Delivery", "1")
				waiting := o.call("x", `{"text":"b"}`, "X-GitHub-Delivery", "2")
				for _, again := range []wire.Routed{o.call("x", `{"text":"a"}`, "X-GitHub-Delivery", "1"), o.call("x", `{"text":"b"}`, "X-GitHub-Delivery", "2")} {
					if !again.Repeated || again.Session != first.Session && again.Session != waiting.Session {
						t.Errorf("a repetition gives %+v", again)
					}
				}
				if other := o.call("y", `{"text":"c"}`, "X-GitHub-Delivery", "1"); other.Repeated {
					t.Error("the call of another hook was treated as the same")
				}
				release()
				synctest.Wait()
				if again := o.call("x", `{"text":"a"}`, "X-GitHub-Delivery", "1"); !again.Repeated {
					t.Error("after the answer it was accepted again")
				}
				o.close()
				o.mu.Lock()
				defer o.mu.Unlock()
				if len(o.asked) != 3 {
					t.Errorf("the model received %q", o.asked)
				}
			})
		})
	}
}

// TestHookDuringUserTurn calls a hook during a turn of a user's session: the message is queued,
// is not a user message, and does not extend the session's lifetime.
func TestHookDuringUserTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Now(), hooked(map[string]Hook{"x": {Key: "main", Enabled: true}}))
		s, err := o.NewSession(t.Context(), wire.NewSession{Key: "main"})
		if err != nil {
			t.Fatal(err)
		}
		release := o.block()
		ticket, err := o.accept(t.Context(), s.ID, wire.Turn{Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before, err := o.lifetimes(t.Context(), s.ID)
		if err != nil || before.Interaction.IsZero() {
			t.Fatal(before, err)
		}
		o.pass(time.Hour)
		out := o.call("x", `{"text":"news"}`)
		if out.Session != s.ID {
			t.Errorf("the result is %+v", out)
		}
		release()
		<-ticket.done
		o.close()
		want := "user: hello\nassistant: done: hello\nhook:x: news\nassistant: done: news"
		if got := spoken(t, o.st, s.ID); got != want {
			t.Errorf("the log is:\n%s\nwant\n%s", got, want)
		}
		if after, err := o.lifetimes(t.Context(), s.ID); err != nil || !after.Interaction.Equal(before.Interaction) {
			t.Errorf("the last user message was at %s, before it was %s, %v", after.Interaction, before.Interaction, err)
		}
	})
}

// TestHookWithRemovedSession calls a hook whose session was removed: a new session is
// started, but not for a call that was accepted before.
func TestHookWithRemovedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Now(), hooked(map[string]Hook{"x": {Key: "news", Enabled: true}}))
		defer o.close()
		first := o.call("x", `{"text":"a"}`, "X-GitHub-Delivery", "1")
		synctest.Wait()
		if _, err := o.Remove(t.Context(), first.Session, wire.Remove{}); err != nil {
			t.Fatal(err)
		}
		if again := o.call("x", `{"text":"a"}`, "X-GitHub-Delivery", "1"); !again.Repeated || again.Session != first.Session {
			t.Errorf("a repetition gives %+v", again)
		}
		if next := o.call("x", `{"text":"b"}`, "X-GitHub-Delivery", "2"); next.Repeated || next.Session == first.Session {
			t.Errorf("the next call gave %+v", next)
		}
	})
}

func TestHooksRefused(t *testing.T) {
	o := newJobGateway(t, inMemory(), time.Now(), hooked(map[string]Hook{"off": {}, "on": {Enabled: true}}))
	defer o.close()
	for _, name := range []string{"off", "none", ""} {
		if _, err := o.Hook(t.Context(), name, []byte(`{"text":"a"}`), nil); wire.KindOf(err) != wire.NotFound {
			t.Errorf("hook %q: %v", name, err)
		}
		if _, err := o.HookToken(name); wire.KindOf(err) != wire.NotFound {
			t.Errorf("the token of hook %q: %v", name, err)
		}
	}
	if _, err := o.Hook(t.Context(), "on", []byte(`{}`), nil); wire.KindOf(err) != wire.Invalid || strings.Contains(err.Error(), "{}") {
		t.Errorf("an empty call: %v", err)
	}
	for info := range o.List(t.Context(), store.Query{}) {
		t.Errorf("session %s was started", info.ID)
	}
	for name, h := range map[string]Hook{
		"unknown agent":           {Agent: "nobody"},
		"key of an unknown agent": {Key: "agent:nobody:main"},
		"a bad key":               {Key: "agent::"},
		"a bad template":          {Template: "{{.text"},
		"an unknown function":     {Template: "{{exec .text}}"},
	} {
		setup := *o.setup.Load()
		setup.Hooks = map[string]Hook{"h": h}
		if err := o.Reload(setup); !errors.Is(err, firn.ErrInvalid) && !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
