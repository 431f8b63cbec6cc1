package firn_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// This file is the plan of the house as tables: who may import whom, and who
// may do what. Every Go file of the module is held against it, for every
// operating system at once. To break a rule, add a line with the reason; then
// it can be seen and talked about.
//
// Packages are named by their directory, the root is ".". In patterns, x/*
// stands for the members of x, x/... for x and everything below it, and ...
// for everything.

// layers says which of our packages a package may import. The first line that
// matches counts. Test files are free.
var layers = []layer{
	// naming
	{".", nil, "names things; all import it, so it imports none"},

	// keeping, from below
	{"internal/vfs", []string{"."}, "a few file operations; the root only for kinds of errors"},
	{"internal/vfs/...", []string{"internal/vfs", "internal/vfs/..."}, "file systems that fail, and their suite"},
	{"internal/disk/history", []string{"internal/vfs"}, "the lines typed at terminals, in a file"},
	{"internal/limits", []string{"internal/vfs"}, "file descriptors: how many there are, and files opened again when there were none"},
	{"internal/rawjson", nil, "bytes of JSON, whoever they belong to"},
	{"internal/journal", []string{".", "internal/vfs", "internal/rawjson"}, "lines, not entries: the root only for positions, gaps and kinds of errors"},
	{"store", []string{".", "internal/rawjson"}, "the contract knows no member; raw JSON in entries is checked before it is kept"},
	{"internal/rowcache", []string{".", "store", "internal/vfs"}, "a cache of rows, for stores that must read much for one"},
	{"store/filestore", []string{".", "store", "dialect", "dialect/native", "internal/journal", "internal/limits", "internal/rowcache", "internal/vfs", "internal/rawjson"}, "spells entries in the native dialect, in a journal; keeps as many open as there are descriptors for"},
	{"store/jetstream", []string{".", "store", "dialect", "dialect/native", "internal/rawjson"}, "sends the lines that files hold"},
	{"store/jetstream/jetstreamtest", []string{"store/jetstream", "internal/testutil"}, "real clusters for tests, as processes"},
	{"store/sourcestore", []string{".", "store", "dialect", "internal/journal", "internal/rowcache", "internal/vfs", "internal/rawjson"}, "another tool's home as a store; the tool is handed to it"},
	{"store/unionstore", []string{".", "store", "internal/vfs"}, "marks in files what it is about to take over"},
	{"store/storetest", []string{".", "store", "store/memstore", "internal/testutil"}, "compares every store with the one in memory"},
	{"store/*", []string{".", "store"}, "members know the contract, not each other"},
	{"internal/witness", []string{".", "store"}, "wraps any store, and tells of its changes what is derived from it"},
	{"internal/index", []string{".", "store", "window", "internal/witness", "internal/rowcache", "internal/vfs", "internal/rawjson"}, "derived from any store"},

	{"internal/fulltext", []string{".", "store", "internal/witness", "internal/search", "internal/mask", "internal/vfs", "internal/blocks"}, "derived from any store: the index of words; reads what sub-agents said"},
	{"internal/backup", []string{".", "internal/vfs"}, "puts the files of a home into one, and back; what is in them does not matter to it"},
	{"internal/migrate", []string{".", "store"}, "carries sessions from any store to any other"},
	{"internal/remote", []string{".", "store", "client", "wire"}, "the store of a gateway as a source of sessions"},
	{"internal/grep", []string{".", "internal/search", "internal/mask", "internal/rawjson", "internal/vfs"}, "reads the lines of files, whoever's they are: it must work without an index"},

	// deciding
	{"internal/search", []string{"."}, "pure: what words are, what a query asks for, what is the best answer"},
	{"internal/mask", []string{"internal/rawjson"}, "pure: what looks like a secret"},
	{"internal/richtext", []string{"."}, "pure: text in safe HTML"},
	{"internal/card", []string{".", "window", "wire", "internal/richtext", "internal/blocks"}, "pure: entries as pages show them; counts tokens as windows do; reads what sub-agents said"},
	{"internal/page", []string{".", "wire", "internal/card", "internal/mask", "internal/richtext"}, "pure: a session as one page; where its entries come from is handed to it"},
	{"internal/view", []string{".", "store", "route", "window", "provider", "compact", "agent", "dialect", "wire", "internal/card", "internal/page"}, "shows sessions of any store, and changes none; asks agents what they would send"},
	{"dialect", []string{".", "internal/rawjson"}, "the contract knows no member"},
	{"internal/blocks", []string{".", "internal/rawjson"}, "content of messages as Anthropic's API spells it, which several tools store"},
	{"dialect/*", []string{".", "dialect", "internal/rawjson", "internal/blocks"}, "members know the contract, not each other"},
	{"internal/convert", []string{".", "store", "dialect", "window", "wire", "internal/rawjson", "internal/mask"}, "streams entries from one dialect to another; the members are handed to it; what another tool's provider refuses is what windows are made to fit"},
	{"internal/dialects", []string{".", "dialect", "dialect/*"}, "the table of all tools"},
	{"internal/adopt", []string{".", "dialect", "internal/vfs", "internal/convert"}, "finds other tools' folders and mirrors them; the members are handed to it"},
	{"route", []string{"."}, "pure"},
	{"internal/typo", nil, "pure: which name was meant"},
	{"internal/pattern", nil, "pure: expressions that are compiled when they are used"},
	{"internal/maintenance", []string{".", "store", "route", "wire", "internal/card"}, "pure: which sessions are cleared away; tells it in the words of the protocol"},
	{"internal/timer", []string{".", "store", "wire"}, "what is due when; who keeps it does it"},
	{"internal/timer/timertest", nil, "days on which clocks are changed"},
	{"window", []string{".", "internal/rawjson"}, "pure"},
	{"window/windowtest", []string{".", "window"}, "refuses what providers refuse"},

	// acting
	{"internal/sse", []string{"."}, "a stream of events, whatever they mean"},
	{"internal/digest", []string{".", "internal/rawjson"}, "a conversation as text, and what of it is worth keeping; no model, no I/O"},
	{"provider", []string{".", "window"}, "the contract knows no member; a request is a window"},
	{"provider/providertest", []string{".", "window", "provider", "internal/sse", "internal/rawjson", "internal/testutil"}, "what every member must do"},
	{"provider/*", []string{".", "window", "provider", "internal/sse", "internal/rawjson", "internal/digest", "internal/pattern"}, "members know the contract, not each other"},
	{"tool", []string{".", "provider", "internal/typo"}, "what an agent can do, each from what it may touch"},
	{"internal/instructions", []string{"."}, "instruction files of a project, read inside of it"},
	{"compact", []string{".", "store", "window", "provider", "internal/digest", "internal/pattern"}, "no concrete store or provider"},
	{"memory", []string{".", "store", "window", "provider", "internal/vfs", "internal/digest", "internal/pattern"}, "no concrete store or provider; files for the notes; finds facts without a model as summaries do"},
	{"agent", []string{".", "store", "route", "window", "provider", "tool", "compact", "memory"}, "no concrete store, dialect or provider; carries the bounds of who asked"},

	// protocol
	{"wire", []string{"."}, "types only"},
	{"client", []string{".", "wire", "internal/sse"}, "never the server's side; events come as a stream"},

	// process
	{"internal/config", []string{".", "internal/vfs", "internal/typo"}, "settings; replaces their file in one step"},
	{"internal/metrics", []string{".", "store", "provider", "internal/vfs"}, "wraps contracts; times what the disk takes"},
	{"internal/trace", []string{".", "provider"}, "wraps models; sends names and numbers to a collector"},
	{"internal/webui", []string{"wire"}, "pages"},
	{"internal/gateway", []string{".", "store", "route", "window", "provider", "compact", "agent", "dialect", "wire", "internal/richtext", "internal/convert", "internal/index", "internal/search", "internal/trace", "internal/vfs", "internal/timer", "internal/maintenance", "internal/view", "internal/rawjson", "internal/typo"}, "contracts only: serve hands it the members; never its doors; reads the bodies of hooks strictly; says which agent was probably meant"},
	{"internal/api", []string{".", "store", "wire", "route", "internal/gateway", "internal/view", "internal/search", "internal/page", "internal/sse", "internal/token", "internal/metrics", "internal/trace", "internal/limits", "internal/vfs", "internal/rawjson"}, "the doors of a gateway: asks it by its methods; reads requests strictly; files for the lock of a home and its address"},
	{"internal/token", []string{".", "wire", "route", "internal/vfs"}, "who is let in, and within which bounds; a file of one home, or what it is handed instead"},
	{"internal/openaiapi", []string{".", "client", "wire", "dialect/native", "internal/sse", "internal/rawjson"}, "a client that speaks as OpenAI's API does, and reads requests strictly; lines of entries are the native dialect"},
	{"internal/hangup", []string{"internal/rawjson"}, "a stream that ends once what was asked is answered"},
	{"internal/mcp", []string{".", "client", "wire", "internal/prose", "internal/hangup"}, "a client that speaks that protocol"},
	{"internal/acp", []string{".", "client", "wire", "internal/prose", "internal/hangup"}, "a client that speaks that protocol"},
	{"internal/doctor", []string{".", "store", "store/filestore", "dialect", "dialect/*", "window", "internal/journal", "internal/vfs", "internal/index", "internal/fulltext", "internal/rawjson", "internal/adopt", "internal/dialects", "internal/prose"}, "opens files directly: it must work when nothing else does; knows all tools, to tell what is in mirrors"},
	{"internal/demo", []string{".", "client", "wire", "internal/prose", "internal/doctor", "internal/vfs"}, "a client that tells a story; tears a line on purpose, verifies and clears up"},
	{"internal/prose", []string{".", "wire", "internal/blocks"}, "words for people, of what the gateway tells; reads what sub-agents said"},
	{"internal/cluster", []string{".", "store", "store/jetstream", "agent", "wire", "internal/gateway", "internal/api"}, "several gateways, one owner for each session: leases and notes are the engine's, and so is the one store it knows; requests are passed on from door to door"},
	{"internal/serve", []string{".", "store", "store/*", "dialect/native", "route", "window", "provider", "provider/*", "tool", "compact", "memory", "agent", "wire", "dialect", "internal/doctor", "internal/adopt", "internal/convert", "internal/dialects", "internal/config", "internal/gateway", "internal/api", "internal/cluster", "internal/index", "internal/instructions", "internal/fulltext", "internal/search", "internal/metrics", "internal/trace", "internal/limits", "internal/vfs", "internal/openaiapi", "internal/mcp", "internal/prose", "internal/webui", "internal/migrate", "internal/timer", "internal/maintenance", "internal/token", "internal/disk/history", "internal/typo"}, "puts a gateway together: the one place that knows all members; a purge clears the history of the terminal; says which profile was probably meant"},
	{"internal/line", []string{"internal/vfs", "internal/disk/history"}, "a terminal that is typed at"},
	{"internal/line/linetest", []string{"internal/testutil"}, "a terminal without glass, for tests"},
	{"internal/testutil", nil, "seeds, waiting and ports, for tests"},
	{"internal/markdown", nil, "pure"},
	{"internal/progress", []string{"internal/prose"}, "how far something is, in words for people"},
	{"internal/unit", nil, "pure: what service managers are told"},
	{"internal/manual", nil, "pure: commands as documents; who has the commands hands them over"},
	{"internal/chat", []string{".", "client", "wire", "internal/prose", "internal/line", "internal/disk/history", "internal/markdown", "internal/typo"}, "a client that sits at a terminal"},
	{"internal/cli", []string{".", "client", "wire", "dialect", "internal/adopt", "internal/convert", "internal/dialects", "internal/vfs", "internal/prose", "internal/config", "internal/doctor", "internal/grep", "internal/demo", "internal/mcp", "internal/acp", "internal/chat", "internal/line", "internal/disk/history", "internal/migrate", "internal/manual", "internal/backup", "internal/typo", "internal/progress", "internal/unit"}, "a client; doctor, verify, repair and grep open files directly, through store.go alone; adopt, convert and handoff work on other tools' files, which are on this machine; files for the history of the chat"},
	{"cmd/...", []string{"..."}, "wires the tables"},

	// proving
	{"examples/...", []string{".", "store", "store/*", "dialect", "dialect/*", "route", "window", "provider", "provider/*", "tool", "compact", "memory", "agent", "wire", "client"}, "what a stranger could write: nothing internal"},
	{"bench/...", []string{"..."}, "measures everything"},
	{"soak", []string{".", "client", "wire", "store", "store/filestore", "window", "window/windowtest", "internal/sse"}, "a client of the real program for long; reads the files to see what is there"},
	{"interop", nil, "tests with other programs, no code"},
	{"internal/webui/webtest", nil, "a browser looks at the pages; tests, no code"},
}

// guests says which packages may import what is not ours and not the standard
// library. A module that no line names is refused.
var guests = []guest{
	{"golang.org/x/term", []string{"internal/line"}, "the terminal: every key at once, and its size"},
	{"github.com/nats-io/", []string{"store/jetstream", "store/jetstream/jetstreamtest"}, "the cluster"},
	{"github.com/clipperhouse/displaywidth", []string{"internal/line", "internal/line/linetest", "internal/markdown", "internal/prose"}, "how wide characters are, and what is one"},
	{"golang.org/x/sys/", []string{"internal/vfs/...", "soak"}, "system calls the standard library lacks"},
	{"github.com/spf13/", []string{"internal/cli", "cmd/..."}, "commands and flags"},
	{"github.com/pelletier/go-toml/", []string{"internal/config", "internal/mask"}, "reads settings, with the place of every value; and the rules of gitleaks as they come"},
	{"github.com/adhocore/gronx", []string{"internal/config", "internal/timer"}, "when a job runs next, and whether its schedule is one"},
	{"github.com/klauspost/compress/zstd", []string{"internal/serve", "internal/cli", "internal/dialects", "internal/backup", "store/jetstream", "cmd/firn"}, "some tools compress old transcripts; so does a store that seals them, and a backup"},
	{"github.com/modelcontextprotocol/go-sdk/", []string{"internal/mcp"}, "the protocol's own types and transports"},
	{"github.com/coder/acp-go-sdk", []string{"internal/acp"}, "the protocol's types, made from its schema"},
	{"github.com/yuin/goldmark", []string{"internal/richtext"}, "reads Markdown"},
	{"github.com/microcosm-cc/bluemonday", []string{"internal/richtext"}, "the second wall: lets through what is on a list"},
	{"modernc.org/sqlite", []string{"internal/fulltext"}, "the index of words, which can be thrown away"},
	{"github.com/fsnotify/fsnotify", []string{"internal/journal"}, "wakes those who follow a file that another process adds to"},
}

// testGuests are for test files everywhere, and for suites that other
// packages' tests call.
var testGuests = []guest{
	{"pgregory.net/rapid", []string{"store/storetest", "dialect/dialecttest", "internal/vfs/..."}, "random operations that shrink"},
	{"github.com/google/go-cmp/", []string{"store/storetest", "dialect/dialecttest"}, "readable differences"},
	{"github.com/anishathalye/porcupine", nil, "whether what many have seen at once can have happened in some order"},
	{"github.com/rogpeppe/go-internal/", nil, "scripts of commands and what they print"},
	{"github.com/hanwen/go-fuse/", []string{"internal/vfs/..."}, "a file system that loses what was not synced"},
	{"github.com/modelcontextprotocol/go-sdk/", nil, "speaks to firn mcp as others do"},
	{"github.com/coder/acp-go-sdk", nil, "speaks to firn acp as editors do"},
	{"golang.org/x/net/html", nil, "reads HTML as browsers do, to see what is in it"},
	{"github.com/getkin/kin-openapi/", nil, "a second opinion on the description of the API"},
	{"github.com/chromedp/", nil, "steers the browser that looks at the pages"},
}

// deeds says who may do what. A deed is a use of a name ("os.Exit"), an import
// ("import flag") or "func init"; a * at the end stands for any ending. Test
// files may do anything.
var deeds = []deed{
	{
		what: []string{"func init"},
		in:   []string{"..."},
		why:  "nothing registers itself: cmd wires the tables",
	},
	{
		what: []string{"import . *"},
		in:   []string{"..."},
		why:  "a name tells where it comes from, and these tables can see it",
	},
	{
		what:   []string{"os.Exit", "log.Fatal*", "syscall.Exit"},
		in:     []string{"..."},
		owners: []string{"cmd/...", "examples/...", "bench/...", "soak"},
		why:    "only a main ends the process",
	},
	{
		what:   []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "os.Setenv", "os.Args", "os.UserHomeDir", "os.UserConfigDir", "os.UserCacheDir", "syscall.Getenv", "import flag", "import github.com/spf13/*"},
		in:     []string{"..."},
		owners: []string{"cmd/...", "internal/config", "internal/cli", "examples/...", "bench/...", "soak", "internal/testutil"},
		why:    "flags and environment become arguments at the rim",
	},
	{
		what: []string{
			"os.OpenFile", "os.OpenInRoot", "os.OpenRoot", "os.Create*", "os.Mkdir*", "os.WriteFile", "os.Rename", "os.Remove*",
			"os.Truncate", "os.Link", "os.Symlink", "os.Chmod", "os.CopyFS", "syscall.Open", "syscall.Rename", "syscall.Unlink",
			"import io/ioutil",
		},
		in:     []string{"..."},
		owners: []string{"internal/vfs", "cmd/...", "examples/...", "bench/...", "soak"},
		why:    "one place makes files, for their owner alone, and tests can make it fail",
		except: []exception{{"tool", "opens the workspace as an os.Root, which nothing escapes; the files in it are the user's, not ours"},
			{"internal/instructions", "reads the project as an os.Root, which nothing escapes; makes no file"},
			{"store/jetstream/jetstreamtest", "damages and empties the directories of servers that tests have started"}},
	},
	{
		what: []string{
			"import os", "import os/*", "import net", "import net/http*", "import net/rpc*", "import net/smtp", "import io/ioutil", "import syscall", "import context",
			"import golang.org/x/sys/*", "import database/sql*", "import log*",
			"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After*", "time.NewTimer", "time.NewTicker", "time.Tick",
		},
		in:  []string{"dialect/...", "route", "window", "internal/search", "internal/mask", "internal/richtext", "internal/card", "internal/page", "internal/manual", "internal/maintenance", "internal/typo", "internal/unit"},
		why: "deciding is pure: no file, no network, no clock",
	},
	{
		what: []string{"import net/http*"},
		in:   []string{"internal/gateway"},
		why:  "who owns sessions knows no HTTP: its doors are in internal/api",
	},
	{
		what: []string{
			"firn.Entry", "firn.NewEntry*", "firn.Message", "firn.Body", "firn.Part", "firn.Kind*", "firn.Glance*", "firn.Record", "firn.NewRecord", "firn.LazyRecord", "firn.Tree",
			"firn/internal/rawjson.New*", "encoding/json.Unmarshal", "encoding/json.Marshal*", "encoding/json.New*",
		},
		in:  []string{"internal/journal", "internal/vfs/..."},
		why: "a journal stores lines: whether one is whole JSON it may ask, what it says is for a dialect to know",
	},
}

// TestArchitecture holds every package against the tables.
func TestArchitecture(t *testing.T) {
	for _, complaint := range judge(loadModule(t)) {
		t.Error(complaint)
	}
}

// TestTablesNameWhatExists finds lines about packages that are not there.
func TestTablesNameWhatExists(t *testing.T) {
	packages := loadModule(t)
	check := func(pattern, table string) {
		t.Helper()
		if !slices.ContainsFunc(packages, func(p pkg) bool { return match(pattern, p.path) }) {
			t.Errorf("the table of %s names %s, and there is no such package", table, pattern)
		}
	}
	for _, l := range layers {
		check(l.pkg, "layers")
		for _, may := range l.may {
			check(may, "layers")
		}
	}
	for _, d := range deeds {
		for _, in := range slices.Concat(d.in, d.owners) {
			check(strings.TrimPrefix(in, "!"), "deeds")
		}
		for _, e := range d.except {
			check(e.pkg, "exceptions")
		}
	}
}

// TestExceptionsAreNeeded finds exceptions that outlived their reason.
func TestExceptionsAreNeeded(t *testing.T) {
	packages := loadModule(t)
	for _, d := range deeds {
		for i, e := range d.except {
			if e.reason == "" {
				t.Errorf("the exception for %s from %q has no reason", e.pkg, d.why)
			}
			without := d
			without.except = slices.Delete(slices.Clone(d.except), i, i+1)
			if len(judgeDeeds(packages, []deed{without})) == len(judgeDeeds(packages, []deed{d})) {
				t.Errorf("%s no longer needs its exception from %q", e.pkg, d.why)
			}
		}
	}
}

// TestTablesCatch feeds the tables with packages that break them, one rule
// each, to see that they bite. Each case is one file of one package; want is a
// part of the only complaint, or nothing.
func TestTablesCatch(t *testing.T) {
	cases := map[string]struct{ file, source, want string }{
		"the root imports ours":          {"x.go", `import "firn/store"; var _ store.Store`, "may not import firn/store"},
		"the root imports a guest":       {"x.go", `import "github.com/nats-io/nats.go"; var _ nats.Conn`, "no line of the table"},
		"the standard library is free":   {"x.go", `import "time"; var _ = time.Now`, ""},
		"a package nobody planned":       {"util/x.go", ``, "no line in the table of layers"},
		"a family's parent":              {"store/x.go", `import "firn/store/filestore"; var _ filestore.Store`, "may not import firn/store/filestore"},
		"a sibling":                      {"dialect/pi/x.go", `import "firn/dialect/native"; var _ native.Dialect`, "may not import firn/dialect/native"},
		"a sibling in a test":            {"dialect/pi/x_test.go", `import "firn/dialect/native"; var _ native.Dialect`, ""},
		"a provider's sibling":           {"provider/openai/x.go", `import "firn/provider/offline"; var _ offline.Model`, "may not import"},
		"the suite and the reference":    {"store/storetest/x.go", `import "firn/store/memstore"; var _ memstore.Store`, ""},
		"a journal of entries":           {"internal/journal/x.go", `import "firn"; var _ firn.Entry`, "uses firn.Entry"},
		"a journal of bodies, renamed":   {"internal/journal/x.go", `import names "firn"; var _ names.Body`, "uses firn.Body"},
		"a journal of positions":         {"internal/journal/x.go", `import "firn"; var _ firn.Pos`, ""},
		"a journal that parses":          {"internal/journal/x.go", `import "encoding/json"; var _ = json.Unmarshal`, "uses encoding/json.Unmarshal"},
		"a journal that reads members":   {"internal/journal/x.go", `import "firn/internal/rawjson"; var _ = rawjson.New(nil)`, "uses firn/internal/rawjson.New"},
		"a journal that asks":            {"internal/journal/x.go", `import "encoding/json"; var _ = json.Valid`, ""},
		"a pure package with a file":     {"window/x.go", `import "os"; var _ = os.Stdin`, "imports os"},
		"a pure package with a network":  {"route/x.go", `import "net/http"; var _ http.Client`, "imports net/http"},
		"a pure package with an address": {"route/x.go", `import "net/url"; var _ url.URL`, ""},
		"a pure package with a clock":    {"dialect/native/x.go", `import "time"; func f() { time.Now() }`, "uses time.Now"},
		"a clock as a value":             {"dialect/x.go", `import "time"; var now = time.Now`, "uses time.Now"},
		"a clock under another name":     {"window/x.go", `import clock "time"; var now = clock.Since`, "uses time.Since"},
		"a clock without a name":         {"window/x.go", `import . "time"; var now = Now`, "imports . time"},
		"a time that was given":          {"window/x.go", `import "time"; var _ time.Time`, ""},
		"a pure package that waits":      {"window/x.go", `import "context"; var _ context.Context`, "imports context"},
		"a client that keeps":            {"client/x.go", `import "firn/store"; var _ store.Store`, "may not import firn/store"},
		"a client that serves":           {"client/x.go", `import "firn/internal/api"; var _ api.HTTP`, "may not import"},
		"a gateway that knows its doors": {"internal/gateway/x.go", `import "firn/internal/api"; var _ api.HTTP`, "may not import firn/internal/api"},
		"a gateway that speaks HTTP":     {"internal/gateway/x.go", `import "net/http"; var _ http.Header`, "imports net/http"},
		"a door of a gateway":            {"internal/api/x.go", `import ("net/http"; "firn/internal/gateway"); var _ http.Handler; var _ gateway.Gateway`, ""},
		"a command that opens a store":   {"internal/cli/x.go", `import "firn/store/filestore"; var _ filestore.Store`, "may not import"},
		"a screen that opens a store":    {"internal/line/x.go", `import "firn/store"; var _ store.Store`, "may not import"},
		"a doctor":                       {"internal/doctor/x.go", `import "firn/internal/journal"; var _ journal.Journal`, ""},
		"an agent with a provider":       {"agent/x.go", `import "firn/provider/anthropic"; var _ anthropic.Model`, "may not import"},
		"an agent with a store":          {"agent/x.go", `import "firn/store/filestore"; var _ filestore.Store`, "may not import"},
		"an agent with a dialect":        {"agent/x.go", `import "firn/dialect/pi"; var _ pi.Dialect`, "may not import"},
		"NATS elsewhere":                 {"internal/gateway/x.go", `import "github.com/nats-io/nats.go"; var _ nats.Conn`, "github.com/nats-io/nats.go"},
		"NATS where it belongs":          {"store/jetstream/x.go", `import "github.com/nats-io/nats.go"; var _ nats.Conn`, ""},
		"a terminal elsewhere":           {"internal/cli/x.go", `import "charm.land/bubbletea/v2"; var _ tea.Model`, "charm.land/bubbletea/v2"},
		"a guest of tests":               {"window/x.go", `import "pgregory.net/rapid"; var _ rapid.T`, "pgregory.net/rapid"},
		"a guest of tests in a test":     {"window/x_test.go", `import "pgregory.net/rapid"; var _ rapid.T`, ""},
		"a stranger in a test":           {"window/x_test.go", `import "example.org/assert"; var _ assert.T`, "example.org/assert"},
		"flags in a store":               {"store/filestore/x.go", `import "flag"; var _ = flag.Parse`, "imports flag"},
		"environment in a store":         {"store/filestore/x.go", `import "os"; var _ = os.Getenv("HOME")`, "uses os.Getenv"},
		"arguments in an agent":          {"agent/x.go", `import "os"; var _ = os.Args`, "uses os.Args"},
		"environment in the settings":    {"internal/config/x.go", `import "os"; var _ = os.Getenv("HOME")`, ""},
		"the end in a command":           {"internal/cli/x.go", `import "os"; func f() { os.Exit(1) }`, "uses os.Exit"},
		"the end by log":                 {"internal/gateway/x.go", `import "log"; func f() { log.Fatalf("no") }`, "uses log.Fatalf"},
		"the end in main":                {"cmd/firn/x.go", `import "os"; func f() { os.Exit(1) }`, ""},
		"an init":                        {"store/memstore/x.go", `func init() {}`, "func init"},
		"a method called init":           {"store/memstore/x.go", `type s struct{}; func (s) init() {}`, ""},
		"an init in main":                {"cmd/firn/x.go", `func init() {}`, "func init"},
		"an init in a test":              {"store/memstore/x_test.go", `func init() {}`, ""},
		"a file made elsewhere":          {"internal/journal/x.go", `import "os"; var _, _ = os.OpenFile("x", 0, 0)`, "uses os.OpenFile"},
		"a directory made elsewhere":     {"store/filestore/x.go", `import "os"; var _ = os.MkdirAll("x", 0o755)`, "uses os.MkdirAll"},
		"a file removed elsewhere":       {"internal/doctor/x.go", `import "os"; var _ = os.RemoveAll("x")`, "uses os.RemoveAll"},
		"a file made where it belongs":   {"internal/vfs/x.go", `import "os"; var _, _ = os.OpenFile("x", 0, 0)`, ""},
		"an example from inside":         {"examples/x/x.go", `import "firn/internal/journal"; var _ journal.Journal`, "may not import"},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			complaints := judge([]pkg{parsePackage(t, c.file, "package x; "+c.source)})
			switch {
			case c.want == "" && len(complaints) > 0:
				t.Errorf("refused: %q", complaints)
			case c.want != "" && (len(complaints) != 1 || !strings.Contains(complaints[0], c.want)):
				t.Errorf("the complaints are %q, want one with %q", complaints, c.want)
			}
		})
	}
}
