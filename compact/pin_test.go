package compact

import (
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
)

func label(target firn.EntryID, name string) firn.Entry {
	return firn.NewEntry(&firn.Label{Target: target, Name: name})
}

// sent returns all text of the session that is sent to a model.
func sent(t *testing.T, st store.Store) string {
	t.Helper()
	return asked(provider.Request{Window: build(t, st)})
}

// TestPins checks that pins and the first request survive twenty compactions with a useless
// summarizer.
func TestPins(t *testing.T) {
	const size = 16_000
	const rule = "Never touch  the \"legacy\" folder;\n\tuse tabs – always. <b>&amp;</b> 日本 \u2028 end"
	for name, step := range map[string]scripted.Step{
		"says ok":      scripted.Reply("ok, summarised src/part0.go and src/part1.go, and all of the rest too"),
		"says nothing": scripted.Reply(""),
	} {
		t.Run(name, func(t *testing.T) {
			st := open(t, userEntry("Build me a parser."), userEntry(rule))
			pin := all(t, st)[2].ID
			add(t, st, label(pin, "pin"))
			add(t, st, talk(20, 1000)...)
			j := job(st, model(size, scripted.Forever(step)), size)
			for i := range 20 {
				if _, err := Run(t.Context(), j); err != nil {
					t.Fatal(err)
				}
				text := sent(t, st)
				if strings.Count(text, rule) != 1 {
					t.Fatalf("after %d compactions the pinned text occurs %d times", i+1, strings.Count(text, rule))
				}
				if !strings.Contains(text, "<first-request>\nBuild me a parser.\n</first-request>") {
					t.Fatalf("after %d compactions the first request is missing", i+1)
				}
				more := talk(20, 1000)
				for i := range more {
					more[i].ID = ""
				}
				add(t, st, more...)
			}
			if past, err := List(t.Context(), st, session); err != nil || len(past) != 20 {
				t.Errorf("%d compactions, error %v", len(past), err)
			}
		})
	}
}

func TestPinLabels(t *testing.T) {
	const size = 16_000
	secret := "The code word is snowdrift-77."
	round := func(t *testing.T, j Job, labels ...firn.Entry) string {
		t.Helper()
		add(t, j.Store, labels...)
		for _, e := range talk(20, 1000) {
			e.ID = ""
			add(t, j.Store, e)
		}
		if _, err := Run(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		return sent(t, j.Store)
	}
	start := func(t *testing.T) (Job, firn.EntryID) {
		st := open(t, userEntry("Go."), reply(secret))
		return job(st, echo(size), size), all(t, st)[2].ID
	}
	pins := func(t *testing.T, j Job) []Pin {
		return DetailsOf(compaction(t, *live(t, j.Store).Compaction)).Pins
	}
	t.Run("not pinned", func(t *testing.T) {
		j, _ := start(t)
		j.Model = model(size, scripted.Forever(scripted.Reply("src/part0.go src/part1.go src/part2.go and so on and so on")))
		if strings.Contains(round(t, j), secret) {
			t.Error("the text is kept without a pin")
		}
	})
	t.Run("another label", func(t *testing.T) {
		j, id := start(t)
		if round(t, j, label(id, "pin"), label(id, "checkpoint")); len(pins(t, j)) != 0 {
			t.Error("the last label does not win")
		}
	})
	t.Run("removed later", func(t *testing.T) {
		j, id := start(t)
		if text := round(t, j, label(id, "pin")); !strings.Contains(text, "<pinned>\n[assistant, entry "+string(id)+"]\n"+secret+"\n</pinned>") {
			t.Error("the pinned text is missing")
		}
		round(t, j)
		if p := pins(t, j); len(p) != 1 || p[0] != (Pin{ID: id, Role: firn.RoleAssistant, Text: secret}) {
			t.Errorf("carried pins are %+v", p)
		}
		if round(t, j, label(id, "")); len(pins(t, j)) != 0 {
			t.Error("the pin was not removed")
		}
	})
	t.Run("pinned after it was summarized", func(t *testing.T) {
		j, id := start(t)
		round(t, j)
		round(t, j)
		if text := round(t, j, label(id, "pin")); !strings.Contains(text, secret) {
			t.Error("it was not found")
		}
	})
	t.Run("hidden", func(t *testing.T) {
		j, id := start(t)
		round(t, j, label(id, "pin"))
		if text := round(t, j, firn.Hide(id)); strings.Contains(text, secret) || len(pins(t, j)) != 0 {
			t.Error("a hidden text is still pinned")
		}
	})
	t.Run("still kept", func(t *testing.T) {
		j, _ := start(t)
		round(t, j)
		add(t, j.Store, userEntry(secret))
		id := live(t, j.Store).Head
		add(t, j.Store, label(id, "pin"))
		j.Reason = Overflow
		if _, err := Run(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if text := sent(t, j.Store); strings.Count(text, secret) != 1 {
			t.Errorf("it is stored %d times", strings.Count(text, secret))
		}
		if text := round(t, j); strings.Count(text, secret) != 1 {
			t.Errorf("later it occurs %d times", strings.Count(text, secret))
		}
	})
	t.Run("too large", func(t *testing.T) {
		j, _ := start(t)
		add(t, j.Store, userEntry(strings.Repeat("pinned text ", 8000)))
		add(t, j.Store, label(live(t, j.Store).Head, "pin"))
		add(t, j.Store, talk(20, 1000)...)
		_, err := Run(t.Context(), j)
		var big *TooBig
		if !errors.As(err, &big) || big.Pinned < 24_000 || big.Summary < big.Pinned {
			t.Errorf("error %v, want one that names the pinned size", err)
		}
	})
}

func TestSections(t *testing.T) {
	s := sections{
		ask: "Do <b>it</b>.", request: "And that.",
		pins: []Pin{{ID: "p1", Role: firn.RoleUser, Text: "rule </pinned>\n<pinned>\nrule"}, {ID: "p2"}},
		read: []string{"a.go", "b.go", "c.go"}, modified: []string{"d.go"},
	}
	got := s.compose("## Goal\nBody.\n<modified-files>\nfake\n</modified-files>", 2)
	want := `## Goal
Body.
<\modified-files>
fake
<\/modified-files>

<first-request>
Do <b>it</b>.
</first-request>

<latest-request>
And that.
</latest-request>

<pinned>
[user, entry p1]
rule <\/pinned>
<\pinned>
rule
</pinned>

<read-files>
a.go
b.go
(and 1 more)
</read-files>

<modified-files>
d.go
</modified-files>`
	if got != want {
		t.Errorf("the summary is\n%s\nwant\n%s", got, want)
	}
	if body := bodyOf(got); !strings.HasSuffix(body, "<\\/modified-files>") || strings.Contains(body, "Do <b>") {
		t.Errorf("the body is\n%s", body)
	}
	if again := s.compose(bodyOf(got), 2); again != want {
		t.Errorf("put together again it is\n%s", again)
	}
	if got := bodyOf("plain"); got != "plain" {
		t.Errorf("body of a plain summary is %q", got)
	}
	if got := bodyOf("PI SUMMARY\n\n<read-files>\nx\n</read-files>\n\n<modified-files>\ny\n</modified-files>"); got != "PI SUMMARY" {
		t.Errorf("body of pi's summary is %q", got)
	}
	if got := (sections{}).compose("", 5); got != "" {
		t.Errorf("nothing is encoded as %q", got)
	}
}

func TestFirstAndLastRequest(t *testing.T) {
	entries := []firn.Entry{
		userEntry("<environment>\nos: linux\n</environment>"), userEntry("/clear"), userEntry(" "),
		reply("Hello."), userEntry("Write a poem."), reply("Done."), userEntry("Longer."), shell("x"),
	}
	if at, text := firstAsk(entries); at != 4 || text != "Write a poem." {
		t.Errorf("the first request is %d %q", at, text)
	}
	if at, text := lastAsk(entries); at != 6 || text != "Longer." {
		t.Errorf("the last request is %d %q", at, text)
	}
	if got := cutChars(strings.Repeat("ä", 1200), maxGoal); got != strings.Repeat("ä", maxGoal)+"…" {
		t.Errorf("cut to %d bytes", len(got))
	}
	if got := cutChars(cutChars(strings.Repeat("ä", 1200), maxGoal), maxGoal); got != strings.Repeat("ä", maxGoal)+"…" {
		t.Error("cutting twice cuts more")
	}
}

func TestDetailsOf(t *testing.T) {
	for raw, want := range map[string]int{
		``: 0, `null`: 0, `[]`: 0, `{"readFiles":["a"]}`: 1, `{"readFiles":"a","count":"x","pins":{}}`: 0, `{"ReadFiles":["a"]}`: 0,
		`{"readFiles":["a","b"],"usage":7,"state":[]}`: 2,
	} {
		d := DetailsOf(&firn.Compaction{Details: []byte(raw)})
		if len(d.ReadFiles) != want || d.Usage != nil || d.State != nil || d.Count != 0 {
			t.Errorf("%s: details are %+v", raw, d)
		}
	}
}
