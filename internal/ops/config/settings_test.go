package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"firn.dev"
)

// write creates a settings file in a new directory.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read opens valid settings.
func read(t *testing.T, text string, environ ...string) *Settings {
	t.Helper()
	s, err := Open(write(t, text), append(environ, "HOME=/home/u"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFile(t *testing.T) {
	cases := []struct {
		home    string
		environ []string
		want    string
	}{
		{"", []string{"HOME=/u"}, "/u/.firn/firn.toml"},
		{"", []string{"USERPROFILE=/p"}, "/p/.firn/firn.toml"},
		{"", []string{"HOME=/u", "FIRN_HOME=/f"}, "/f/firn.toml"},
		{"", []string{"HOME=/u", "FIRN_HOME=~/f"}, "/u/f/firn.toml"},
		{"/h", []string{"HOME=/u", "FIRN_HOME=/f"}, "/h/firn.toml"},
		{"/h", []string{"HOME=/u", "FIRN_CONFIG=~/c.toml"}, "/u/c.toml"},
		{"", []string{"HOME="}, ""},
		{"", nil, ""},
	}
	for _, c := range cases {
		if got := File(c.home, c.environ); got != c.want {
			t.Errorf("File(%q, %q) is %q, want %q", c.home, c.environ, got, c.want)
		}
	}
	if _, err := Open("", nil, nil); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("without any home: %v", err)
	}
}

func TestOpenFindsTheFile(t *testing.T) {
	path := write(t, `log.level = "debug"`)
	c, err := Open("", []string{"HOME=/u"}, map[string]string{"home": filepath.Dir(path)})
	if err != nil || c.Log.Level != "debug" || c.Home != filepath.Dir(path) {
		t.Errorf("the file of the home was not read: %v, %v", c.Log, err)
	}
	if c.Gateway.Socket != filepath.Join(c.Home, "gateway.sock") || c.Memory.Dir != filepath.Join(c.Home, "agents") {
		t.Errorf("paths are not in the home: %s, %s", c.Gateway.Socket, c.Memory.Dir)
	}
}

func TestOpenUnreadable(t *testing.T) {
	if _, err := Open(t.TempDir(), []string{"HOME=/u"}, nil); err == nil {
		t.Error("a directory was read")
	}
	huge := write(t, "# "+strings.Repeat("x", maxFile))
	if _, err := Open(huge, []string{"HOME=/u"}, nil); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("a huge file: %v", err)
	}
	c, err := Open(write(t, "x = 1"), []string{"HOME=/u"}, nil)
	var problems Problems
	if !errors.As(err, &problems) || !errors.Is(err, firn.ErrInvalid) || len(problems) != 1 || c.Home != "/u/.firn" {
		t.Errorf("a wrong file: %v, %v", c.Home, err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none", FileName), []string{"FIRN_LOG__LEVEL=warn"}, nil); !errors.Is(err, firn.ErrInvalid) || !strings.Contains(err.Error(), "no home directory") {
		t.Errorf("without a home directory: %v", err)
	}
}

func TestPathsInTheFile(t *testing.T) {
	path := write(t, `
home = "data"
agents.main = { workspace = "../w", system_file = "<home>/system.md" }
client.token_file = "/abs"
store.url = "file:<home>/s"
`)
	c, err := Open(path, []string{"HOME=/u", "FIRN_GATEWAY__SOCKET=run/sock", "FIRN_CLIENT__GATEWAY=unix:~/sock"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	got := []string{c.Home, c.Agents["main"].Workspace, c.Agents["main"].SystemFile, c.Client.TokenFile, c.Gateway.Socket, c.Client.Gateway, c.Store.URL}
	want := []string{dir + "/data", filepath.Dir(dir) + "/w", dir + "/data/system.md", "/abs", "run/sock", "unix:/u/sock", "file:" + dir + "/data/s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got)\n%s", diff)
	}
}

func TestAgents(t *testing.T) {
	c := read(t, "default_agent = \"b\"\n[defaults]\nrounds = 7\n[agents.a]\nrounds = 8\n[agents.c]").Config
	for id, want := range map[string]struct {
		rounds int
		known  bool
	}{"a": {8, true}, "b": {7, true}, "c": {7, true}, "d": {7, false}} {
		if a, known := c.Agent(id); a.Rounds != want.rounds || known != want.known {
			t.Errorf("agent %s: %d rounds, known %v", id, a.Rounds, known)
		}
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, c.AgentIDs()); diff != "" {
		t.Error(diff)
	}
	var none Config
	if _, known := none.Agent("main"); known {
		t.Error("an empty config has an agent")
	}
}

func TestModelOverrides(t *testing.T) {
	c := read(t, `
providers.p.models.m = { window = 10, price.input = 1, sees = true }
models."p/m" = { window = 20, price.output = 0 }
`).Config
	m := c.Model("p", "m")
	if *m.Window != 20 || *m.Price.Input != 1 || *m.Price.Output != 0 || !*m.Sees || m.MaxOutput != nil || m.Thinks != nil {
		t.Errorf("the model is %s", formatSetting(t, m))
	}
	if c.Model("p", "other") != (Model{}) {
		t.Error("a model that was never named has overrides")
	}
}

func formatSetting(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGetAndExplain(t *testing.T) {
	s := read(t, "[gateway]\ndrain = \"90s\"\n[[cron]]\nid = \"j\"\nschedule = \"@daily\"\nmessage = \"x\"\n", "FIRN_LOG__LEVEL=warn")
	cases := []struct{ path, value, origin string }{
		{"gateway.drain", "1m30s", s.Path() + ":2"},
		{"gateway.requests", "256", "default"},
		{"log.level", "warn", "$FIRN_LOG__LEVEL"},
		{"log", `{ level = "warn", format = "auto" }`, "$FIRN_LOG__LEVEL"},
		{"session.reset_triggers", `["/new", "/reset"]`, "default"},
		{"cron.j.message", "x", s.Path() + ":6"},
		{"cron.0.message", "x", s.Path() + ":6"},
		{"cron.j.enabled", "true", "default"},
		{"agents.main.model", "firn/offline", "default"},
		{"agents.main.reset", "", "default"},
		{"agents.main.reset.at_hour", "", "default"},
		{"defaults.send_policy.default", "", "default"},
		{`agents."main".rounds`, "100", "default"},
	}
	for _, c := range cases {
		value, err := s.Get(c.path)
		e, _ := s.Explain(c.path)
		if err != nil || value != c.value || e.Origin.String() != c.origin {
			t.Errorf("%s is %q from %s, %v; want %q from %s", c.path, value, e.Origin, err, c.value, c.origin)
		}
	}
	for _, path := range []string{"gatway", "gateway.drain.x", "agents.nobody.model", "cron.1.id", "cron.k", "models.x", "session.reset_triggers.0"} {
		if _, err := s.Get(path); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"", ".", "a..b", `"a`, `"a"b`, "a."} {
		if _, err := s.Get(path); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := s.Get("gateway.drian"); err == nil || !strings.Contains(err.Error(), "did you mean gateway.drain?") {
		t.Errorf("no suggestion: %v", err)
	}
}

func TestExplainIsJSON(t *testing.T) {
	e, err := read(t, "").Explain("gateway.body_limit")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"path":"gateway.body_limit","value":"16mib","origin":{"layer":"default"},"field":{"path":"gateway.body_limit","type":"size","default":"\"16mib\"","range":"1kb..2gb","restart":true,"variable":"FIRN_GATEWAY__BODY_LIMIT","description":"The largest size of a request body."}}`
	if got := formatSetting(t, e); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}

func TestDiff(t *testing.T) {
	old := read(t, `
[store]
sync = "always"
[agents.a]
rounds = 5
[[cron]]
id = "x"
schedule = "@daily"
message = "m"
enabled = false
[[cron]]
id = "y"
schedule = "@daily"
message = "m"
`).Config
	now := read(t, `
[agents.main.reset]
at_hour = 5
[models."a/b"]
window = 5
[[cron]]
id = "y"
schedule = "@hourly"
message = "m"
`).Config
	var got []string
	for _, c := range Diff(old, now) {
		if !strings.HasPrefix(c.Path, "agents.a.") && !strings.HasPrefix(c.Path, "cron.x.") {
			got = append(got, c.String())
		}
	}
	want := []string{
		`store.sync: "always" → "turn" (after a restart)`,
		`agents.main.reset.mode: none → "daily"`,
		`agents.main.reset.at_hour: none → 5`,
		`agents.main.reset.idle: none → "0s"`,
		`agents.main.reset.ttl: none → "0s"`,
		`agents.main.reset.quiet: none → "15m"`,
		`models."a/b".window: none → 5`,
		`cron.y.schedule: "@daily" → "@hourly"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got)\n%s", diff)
	}
	gone := 0
	for _, c := range Diff(old, now) {
		if strings.HasPrefix(c.Path, "agents.a.") || strings.HasPrefix(c.Path, "cron.x.") {
			if gone++; c.New != "" || c.Old == "" {
				t.Errorf("the removal is reported as %s", c)
			}
		}
	}
	if gone == 0 {
		t.Error("the removal is not reported")
	}
	if changes := Diff(old, old); len(changes) > 0 {
		t.Errorf("the same differs: %v", changes)
	}
}

func TestSecret(t *testing.T) {
	env := func(name string) string { return map[string]string{"KEY": "from env"}[name] }
	file := write(t, "from file\r\n")
	cases := []struct {
		variable, file, want string
		bad                  error
	}{
		{"KEY", file, "from env", nil},
		{"KEY", "/nowhere", "from env", nil},
		{"OTHER", file, "from file", nil},
		{"", file, "from file", nil},
		{"OTHER", "", "", nil},
		{"", "", "", nil},
		{"", "/nowhere/at/all", "", fs.ErrNotExist},
		{"", write(t, "two\nlines\n"), "", firn.ErrInvalid},
		{"", write(t, strings.Repeat("x", 70<<10)), "", firn.ErrInvalid},
	}
	for i, c := range cases {
		if got, err := Secret(c.variable, c.file, env); got != c.want || !errors.Is(err, c.bad) {
			t.Errorf("case %d: %q, %v", i, got, err)
		}
	}
}

// TestNoSecretIsPrinted puts a secret in every possible place and checks that it is never
// printed.
func TestNoSecretIsPrinted(t *testing.T) {
	const secret = "hunter2-SECRET"
	for _, text := range []string{
		"key = %", "[providers.a]\nkey = %", "[providers.a]\napi_key = %", "[providers.a]\nkey_env = %", "[providers.a.headers]\nX = %",
		"[providers.a]\nheaders_env = { X = % }", "[client]\ntoken = %", "[client]\ntoken_env = %", "[[hooks]]\nsecret = %",
		"[providers.a]\nurl = \"https://u:hunter2-SECRET@x\"", "client.gateway = \"http://hunter2-SECRET@x\"", "store.url = \"nats://a:hunter2-SECRET@x\"",
	} {
		s, err := Open(write(t, strings.ReplaceAll(text, "%", `"`+secret+`"`)), []string{"HOME=/u", "FIRN_TOKEN=" + secret, "FIRN_PROVIDERS__B__KEY=" + secret}, nil)
		if err == nil {
			t.Errorf("%s was accepted", text)
			continue
		}
		output := err.Error() + formatSetting(t, err) + formatSetting(t, s.All()) + formatSetting(t, s.Warnings)
		if strings.Contains(output, secret) {
			t.Errorf("%s: the secret is shown: %s", text, output)
		}
		if _, err := s.Set("providers.a.api_key", secret); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("set: %v", err)
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "2w": 14 * day, "1w2d3h": 9*day + 3*time.Hour, "1.5d": 36 * time.Hour, " 5m ": 5 * time.Minute,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "d", "-5m", "+5m", "1x", "1d-1h", "1h1d", "1e5d", "99999999999d", "9999999999999999h", "NaNd", "infd", "1d 2h x", "200000w"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	for text, want := range map[string]Bytes{
		"0": 0, "10": 10, "10b": 10, "1kb": 1000, "1KiB": 1024, "1.5 GB": 1.5e9, "2tib": 2 << 40, "1_000": 1000, ".5mb": 500_000,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "mb", "-1", "+1", "1xb", "1 2", "0x10", "1e30", "nan", "inf", "10000000tb", "9223372036854775808"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestSettingsAreShared reads and writes settings from many goroutines, for the race
// detector, and checks that no change is lost.
func TestSettingsAreShared(t *testing.T) {
	s := read(t, example)
	keys := []string{"log.level = debug", "gateway.requests = 7", "store.sync = never", "session.queue.cap = 3", "agents.main.rounds = 9", "maintenance.every = 2h"}
	var group sync.WaitGroup
	for _, line := range keys {
		group.Go(func() {
			key, value, _ := strings.Cut(line, " = ")
			if _, err := s.Set(key, value); err != nil {
				t.Error(err)
			}
			if _, err := s.Get(key); err != nil || len(s.All()) == 0 || len(Diff(s.Config, Default("/x"))) == 0 {
				t.Error("it cannot be read in the meantime", err)
			}
		})
	}
	group.Wait()
	now, err := Open(s.Path(), []string{"HOME=/home/u"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range keys {
		key, value, _ := strings.Cut(line, " = ")
		if got, err := now.Get(key); got != value {
			t.Errorf("%s is %q, %v: it was lost", key, got, err)
		}
	}
}

func TestPlan(t *testing.T) {
	s := read(t, "# mine\n")
	next, err := s.Plan("log.level", "warn")
	if err != nil || next.Log.Level != "warn" {
		t.Errorf("the plan is %v", err)
	}
	if _, err := s.Plan("log.level", "loud"); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("an invalid change can be planned: %v", err)
	}
	if text, err := os.ReadFile(s.Path()); err != nil || string(text) != "# mine\n" {
		t.Errorf("the plan was carried out: %q, %v", text, err)
	}
}

func TestSetFollowsLinks(t *testing.T) {
	real := write(t, "")
	link := filepath.Join(t.TempDir(), FileName)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(link, []string{"HOME=/u"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Set("log.level", "warn"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(real); err != nil || string(text) != "[log]\nlevel = \"warn\"\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is missing: %v, %v", info, err)
	}
}

func TestSetCreatesHome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "home", FileName)
	s, err := Open(path, []string{"HOME=/u"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made something: %v", err)
	}
	if next, err := s.Set("log.level", "warn"); err != nil || next.Log.Level != "warn" || s.Log.Level != "info" {
		t.Errorf("set: %v", err)
	}
}

func TestSetFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file", FileName)
	s, err := Open(path, []string{"HOME=/u"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil { // in place of the directory
		t.Fatal(err)
	}
	if _, err := s.Set("log.level", "warn"); err == nil {
		t.Error("it was not set anywhere")
	}
}

func TestEditKeepsLineEnds(t *testing.T) {
	cases := []struct{ before, path, value, after string }{
		{"[log]\r\nlevel = \"info\"\r\n", "log.format", "json", "[log]\r\nlevel = \"info\"\r\nformat = \"json\"\r\n"},
		{"[log]\r\n", "store.sync", "never", "[log]\r\n\r\n[store]\r\nsync = \"never\"\r\n"},
		{"[log]", "log.format", "json", "[log]\nformat = \"json\"\n"},
		{"[log]\nlevel = \"info\" # x", "log.format", "json", "[log]\nlevel = \"info\" # x\nformat = \"json\"\n"},
		{"[log]\nlevel = \"info\"", "log.level", "warn", "[log]\nlevel = \"warn\""},
		{"[log]", "store.sync", "never", "[log]\n\n[store]\nsync = \"never\"\n"},
		{"# only this", "home", "/x", "home = \"/x\"\n\n# only this"},
		{"", "home", "/x", "home = \"/x\"\n"},
	}
	for _, c := range cases {
		after, err := edit("f", []byte(c.before), c.path, c.value)
		if err != nil || string(after) != c.after {
			t.Errorf("%q with %s = %s is %q, %v; want %q", c.before, c.path, c.value, after, err, c.after)
		}
	}
}
