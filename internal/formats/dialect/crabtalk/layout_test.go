package crabtalk

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/formats/dialect"

	"pgregory.net/rapid"
)

func home(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return fsys
}

// list describes the transcripts of a home and the faults.
func list(fsys fs.FS) (lines []string) {
	for t, err := range New().Layout().Transcripts(fsys) {
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s: error", t.Name))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s %s key=%s title=%q", t.ID, t.Name, strings.Join(t.Parts, ","), t.Key, t.Title))
	}
	return lines
}

func TestTranscripts(t *testing.T) {
	files := map[string]string{
		"sessions/my_agent_tg-1_3_a-title.jsonl":     `{"agent":"my_agent","created_by":"tg:1","created_at":"2026-04-01T09:00:00+00:00","title":"A title","uptime_secs":1}` + "\n",
		"sessions/my_agent_tg-1_3_b.jsonl":           `{"agent":"my_agent","created_by":"tg:1","created_at":"2026-04-01T09:00:00+00:00"}` + "\n",
		"sessions/researcher_user_hello-world.jsonl": `{"agent":"researcher","created_by":"user","created_at":"x"}` + "\n",
		"sessions/crab_Ünser_7.jsonl":                `{"role":"user"}` + "\n",
		"sessions/crab_user_1/meta":                  `{"agent":"crab","created_by":"user","created_at":"2026-05-01T09:00:00+00:00"}`,
		"sessions/crab_user_1/step-000002":           `{}`, "sessions/crab_user_1/step-000001": `{}`, "sessions/crab_user_1/step-1000000": `{}`, "sessions/crab_user_1/step-000003.tmp": `{}`,
		"sessions/2026-04-02/crab_user_1.jsonl": ``,
		"sessions/odd.jsonl":                    `{"role":"user"}` + "\n",
		"sessions/empty/other":                  ``, "sessions/notes.txt": ``,
	}
	for name, data := range fixtures(t) {
		files["sessions/"+name] = string(data)
	}
	got := list(home(files))
	want := []string{
		`crab_user_1.2026-04-02 crab_user_1 sessions/2026-04-02/crab_user_1.jsonl key=agent:crab:direct:user title=""`,
		`crab_tg-12345_2 crab_tg-12345_2_pricing-chat sessions/crab_tg-12345_2_pricing-chat.jsonl key=agent:crab:direct:tg-12345 title="Pricing chat"`,
		`crab_user_1.steps crab_user_1 sessions/crab_user_1/meta,sessions/crab_user_1/step-000001,sessions/crab_user_1/step-000002,sessions/crab_user_1/step-1000000 key=agent:crab:direct:user title=""`,
		`crab_user_1 crab_user_1 sessions/crab_user_1.jsonl key=agent:crab:direct:user title=""`,
		`crab_user_2 crab_user_2_events_april07 sessions/crab_user_2_events_april07.jsonl key=agent:crab:direct:user title=""`,
		dialect.UUID("crabtalk", "crab_Ünser_7") + ` crab_Ünser_7 sessions/crab_Ünser_7.jsonl key=agent:crab:direct:%c3%9cnser title=""`,
		`my_agent_tg-1_3 my_agent_tg-1_3_a-title sessions/my_agent_tg-1_3_a-title.jsonl key=agent:my_agent:direct:tg-1 title="A title"`,
		`my_agent_tg-1_3_b my_agent_tg-1_3_b sessions/my_agent_tg-1_3_b.jsonl key=agent:my_agent:direct:tg-1 title=""`,
		`odd: error`,
		`researcher_user_hello-world researcher_user_hello-world sessions/researcher_user_hello-world.jsonl key=agent:researcher:direct:user title=""`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOwns(t *testing.T) {
	for file, want := range map[string]bool{
		"sessions/crab_user_1.jsonl": true, "sessions/crab_user_1/meta": true, "sessions/abc-transcript_part2.jsonl": false,
		"sessions/--home--/2026_x.jsonl": false, "sessions/2026/11/15/rollout-x.jsonl": false, "projects/a/b.jsonl": false,
	} {
		if got := New().Layout().Owns(home(map[string]string{file: "{}\n"})); got != want {
			t.Errorf("a home with %s is owned: %t, want %t", file, got, want)
		}
	}
	if !New().Layout().Owns(home(map[string]string{"sessions/crab_user.jsonl": `{"agent":"crab","created_by":"user","created_at":"x"}` + "\n"})) {
		t.Error("a home of the first days is not owned")
	}
}

// TestPlace checks that new names are unused and the latest of the agent and the sender for
// CrabTalk.
func TestPlace(t *testing.T) {
	fsys := home(map[string]string{
		"sessions/crab_user_1.jsonl": "", "sessions/crab_user_12_x.jsonl": "", "sessions/crab_user_hello.jsonl": "", "sessions/crab_user_99999999999.jsonl": "", "sessions/crab_tg-1_3/meta": "",
	})
	for _, c := range []struct {
		to   dialect.Target
		want string
	}{
		{dialect.Target{}, "sessions/crab_user_13.jsonl"},
		{dialect.Target{Key: "agent:crab:direct:tg%3a1"}, "sessions/crab_tg-1_4.jsonl"},
		{dialect.Target{Agent: "my_agent", Key: "agent:main:main", Title: "Hello, World!"}, "sessions/my_agent_user_1_hello-world.jsonl"},
		{dialect.Target{Key: "agent:main:telegram:direct:77"}, "sessions/main_telegram-77_1.jsonl"},
		{dialect.Target{Agent: "../../etc", Title: "../../../passwd"}, "sessions/etc_user_1_passwd.jsonl"},
		{dialect.Target{Agent: ":::", Title: "..."}, "sessions/crab_user_13.jsonl"},
	} {
		got, err := New().Layout().Place(fsys, c.to)
		if err != nil || got != c.want {
			t.Errorf("Place(%+v) = %s, %v; want %s", c.to, got, err, c.want)
		}
	}
}

func TestPlaceHostile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		to := dialect.Target{Agent: rapid.String().Draw(rt, "agent"), Key: "agent:a:direct:" + rapid.String().Draw(rt, "peer"), Title: rapid.String().Draw(rt, "title")}
		fsys := fstest.MapFS{}
		for range 3 {
			at, err := New().Layout().Place(fsys, to)
			if err != nil {
				rt.Fatal(err)
			}
			if path.Dir(at) != "sessions" || !fs.ValidPath(at) || len(path.Base(at)) > 255 || fsys[at] != nil {
				rt.Fatalf("placed at %q", at)
			}
			fsys[at] = &fstest.MapFile{}
		}
		if n := len(list(fsys)); n != 3 {
			rt.Fatalf("%d are listed, want 3", n)
		}
	})
}

func TestMeta(t *testing.T) {
	meta := New().Layout().(dialect.Meta)
	const first = `{"agent":"crab","x":1.0,"created_by":"tg:1","created_at":"2026-04-01T09:00:00.5+00:00","title":"","uptime_secs":42}`
	for _, c := range []struct {
		first string
		to    dialect.Target
		want  string
	}{
		{first, dialect.Target{}, ""},
		{first, dialect.Target{Title: "A \"b\"", Uptime: 3900 * time.Millisecond}, `{"agent":"crab","x":1.0,"created_by":"tg:1","created_at":"2026-04-01T09:00:00.5+00:00","title":"A \"b\"","uptime_secs":45}`},
		{`{"agent":"a","created_by":"b","created_at":"c"}`, dialect.Target{Title: "t"}, `{"agent":"a","created_by":"b","created_at":"c","title":"t","uptime_secs":0}`},
		{`{"agent":"a","created_by":"b","created_at":"c","title":"t"}`, dialect.Target{Title: "t"}, ""},
		{`{"role":"user","content":"x"}`, dialect.Target{Title: "t"}, ""},
		{`{"agent":"a","created_b`, dialect.Target{Title: "t"}, ""},
	} {
		got, ok := meta.Meta([]byte(c.first), c.to)
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("Meta(%s) = %s, %t; want %s", c.first, got, ok, c.want)
		}
	}
}

// TestKeys checks that keys are the same as the router's.
func TestKeys(t *testing.T) {
	for _, s := range []string{"", "user", "TG:user-123", "a::b", ":::", "Ü%x", "a b", "…", "x\xffy", " x"} {
		for _, agent := range []string{"crab", "My Agent", "a_b", "-x-", "ß", strings.Repeat("x", 70)} {
			want, err := route.FromCrabTalk(agent, s)
			if got := keyOf(agent, s); got != want.Key.String() && !(err == nil && got == "" && slug(s) == "") {
				t.Errorf("keyOf(%q, %q) = %q, want %q (%v)", agent, s, got, want.Key.String(), err)
			}
		}
		if got, want := slug(s), route.Slug(s); got != want {
			t.Errorf("slug(%q) = %q, want %q", s, got, want)
		}
	}
}

func FuzzTranscripts(f *testing.F) {
	f.Add("crab_user_1.jsonl", "crab_user_1/meta", []byte(`{"agent":"crab","created_by":"user","created_at":"x"}`))
	f.Add("2026-01-01/a_b_1.jsonl", "x_y_2/step-000001", []byte("{"))
	f.Fuzz(func(t *testing.T, a, b string, data []byte) {
		fsys := fstest.MapFS{}
		for _, name := range []string{a, b} {
			if name = "sessions/" + name; fs.ValidPath(name) {
				fsys[name] = &fstest.MapFile{Data: data}
			}
		}
		New().Layout().Owns(fsys)
		seen := make(map[firn.ID]bool)
		for tr, err := range New().Layout().Transcripts(fsys) {
			if err != nil {
				continue
			}
			if tr.ID.Check() != nil || seen[tr.ID] || len(tr.Parts) == 0 {
				t.Fatalf("listed: %+v", tr)
			}
			seen[tr.ID] = true
		}
	})
}
