package firn_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// This file defines the architecture as tables: which room may import which, and which package
// may perform which operation. Every Go file of the module is checked against them, for all
// operating systems. To break a rule, add a line with the reason.
//
// Packages are named by their directory; the root is ".". In patterns, x/* means the members
// of x, x/... means x and everything below it, and ... means everything.

// rooms lists which rooms a room may import; the packages of a room may import each other. The
// first line that matches a package applies. A room may import only rooms above it in the
// table, so there can be no cycle. Test files may import anything.
var rooms = []room{
	{".", nil, "the vocabulary: everything imports it, so it imports nothing"},
	{"internal/base/...", []string{"."}, "pure helpers that know no store, model or gateway"},
	{"internal/disk/...", []string{".", "internal/base/..."}, "files and lines: knows no entries"},
	{"wire", []string{"."}, "types of the protocol only"},
	{"client", []string{".", "wire", "internal/base/..."}, "never the server's side"},
	{"window/...", []string{".", "internal/base/..."}, "pure: what a model is sent"},
	{"internal/formats/dialect/...", []string{".", "internal/base/..."}, "pure: how a tool writes its entries"},
	{"store", []string{".", "internal/base/..."}, "the contract knows no member"},
	{"internal/find/rowcache", []string{".", "store", "internal/disk/vfs"}, "rows of lists that were computed before; safe to delete"},
	{"store/...", []string{".", "store", "internal/base/...", "internal/disk/...", "internal/formats/dialect", "internal/formats/dialect/native", "internal/find/rowcache"}, "keeps entries in the native dialect; knows no other tool"},
	{"internal/find/...", []string{".", "window/...", "store", "internal/base/...", "internal/disk/..."}, "derived from any store, or from text"},
	{"internal/formats/...", []string{".", "wire", "window/...", "store", "internal/base/...", "internal/disk/...", "internal/formats/dialect/...", "internal/find/mask"}, "other tools' sessions: read, write, convert, adopt"},
	{"provider/...", []string{".", "window", "internal/base/...", "internal/find/digest"}, "models; a request is a window"},
	{"tool", []string{".", "provider", "internal/base/..."}, "what an agent can do"},
	{"compact", []string{".", "window", "store", "provider", "internal/base/...", "internal/find/digest"}, "no concrete store or provider"},
	{"agent", []string{".", "window", "store", "provider", "tool", "compact", "internal/base/...", "internal/find/election", "internal/find/lookback"}, "no concrete store, dialect or provider"},
	{"internal/render/...", []string{".", "wire", "window", "internal/base/...", "internal/find/mask"}, "displays entries and answers on pages and terminals"},
	{"internal/gateway/...", []string{".", "wire", "window", "store", "provider", "compact", "tool", "agent", "internal/base/...", "internal/disk/vfs", "internal/disk/filehistory", "internal/find/...", "internal/formats/...", "internal/render/..."}, "owns sessions; depends on interfaces that serve implements, never on doors; tool is for calls that clients run"},
	{"internal/door/...", []string{".", "wire", "client", "store", "internal/base/...", "internal/disk/...", "internal/find/search", "internal/formats/dialect/native", "internal/render/...", "internal/gateway/..."}, "protocols in front of a gateway: HTTP, OpenAI's, MCP, ACP, pages"},
	{"internal/ops/...", []string{".", "wire", "client", "window", "store/...", "provider/...", "tool", "compact", "agent", "internal/base/...", "internal/disk/...", "internal/find/...", "internal/formats/...", "internal/render/...", "internal/gateway/...", "internal/door/..."}, "settings and operations: serve, doctor, backup, migrate"},
	{"internal/term/...", []string{".", "wire", "client", "internal/base/...", "internal/disk/vfs", "internal/disk/sealfs", "internal/disk/history", "internal/find/grep", "internal/formats/...", "internal/render/...", "internal/door/acp", "internal/door/mcp", "internal/ops/..."}, "a client at a terminal; never a store"},
	{"cmd/...", []string{"..."}, "wires the tables"},
	{"examples/...", []string{".", "wire", "client", "window", "store/...", "provider/...", "tool", "compact", "agent", "examples/bridge"}, "code that users could write: nothing internal"},
	{"proving/...", []string{"..."}, "benchmarks and tests of everything; the product does not import it"},
}

// families lists members that must not import each other, only their shared package.
var families = []family{
	{"store/*", []string{"store/memstore"}, "store/storetest", "stores know the contract, not each other; the suite compares with the one in memory"},
	{"provider/*", nil, "", "providers know the contract, not each other"},
	{"internal/formats/dialect/*", nil, "", "dialects know the contract, not each other"},
}

// narrow lists packages that may import less than their room.
var narrow = []room{
	{"internal/disk/vfs/...", []string{".", "internal/disk/vfs/...", "internal/base/basetest"}, "a few file operations, and file systems that fail"},
	{"internal/base/rawjson", nil, "bytes of JSON"},
	{"internal/find/search", []string{".", "internal/base/failure", "internal/base/typo", "internal/find/meaning"}, "pure: words, queries, ranking, and hints for wrong queries"},
	{"internal/find/meaning", nil, "pure: word vectors"},
	{"internal/term/chat", []string{".", "wire", "client", "internal/base/...", "internal/disk/history", "internal/render/...", "internal/term/line", "internal/term/local", "internal/term/match"}, "a client"},
	{"internal/term/local", []string{".", "internal/disk/vfs"}, "the user's machine; knows no sessions"},
	{"internal/term/browse", []string{".", "wire", "client", "internal/base/...", "internal/render/...", "internal/term/line", "internal/term/match"}, "a client"},
	{"internal/term/match", []string{".", "wire", "internal/base/..."}, "ranks the sessions of the pickers"},
	{"internal/term/line", []string{"internal/disk/vfs", "internal/disk/history", "internal/base/..."}, "a terminal, independent of its use"},
	{"internal/ops/config", []string{".", "internal/base/...", "internal/disk/vfs"}, "settings, independent of their use"},
	{"internal/ops/memory", []string{".", "window", "store", "provider", "internal/base/...", "internal/disk/vfs", "internal/find/digest", "internal/find/search"}, "no concrete store or provider; notes are files, ranked as messages are"},
	{"internal/ops/doctor", []string{".", "window", "store", "store/filestore", "internal/base/...", "internal/disk/...", "internal/find/...", "internal/formats/...", "internal/render/prose"}, "opens files directly: it must work when nothing else does"},
}

// modules lists third-party modules and the packages that may import them. Other modules are
// rejected.
var modules = []moduleRule{
	{"golang.org/x/term", []string{"internal/term/line"}, "the terminal: raw mode and size"},
	{"github.com/nats-io/", []string{"store/jetstream", "internal/ops/jetstreamtest"}, "the cluster"},
	{"github.com/clipperhouse/displaywidth", []string{"internal/term/line", "internal/term/line/linetest", "internal/render/markdown", "internal/render/prose"}, "the width and boundaries of characters"},
	{"golang.org/x/sys/", []string{"internal/disk/vfs/...", "internal/term/line", "proving/soak"}, "system calls the standard library lacks"},
	{"github.com/spf13/", []string{"internal/term/cli", "cmd/..."}, "commands and flags"},
	{"github.com/pelletier/go-toml/", []string{"internal/ops/config", "internal/find/mask"}, "reads settings, with the position of every value, and the gitleaks rules"},
	{"github.com/adhocore/gronx", []string{"internal/ops/config", "internal/gateway/timer"}, "the next run of a job, and validation of schedules"},
	{"github.com/klauspost/compress/zstd", []string{"internal/ops/serve", "internal/term/cli", "internal/formats/dialects", "internal/formats/history/crush", "internal/formats/history/zed", "internal/ops/backup", "store/jetstream", "internal/disk/filehistory", "internal/ops/sessionsync", "cmd/firn"}, "some tools compress old transcripts; so does a store that seals them, a backup, and a sync"},
	{"filippo.io/age", []string{"internal/ops/sessionsync", "internal/ops/backup", "internal/ops/encryption", "internal/term/cli"}, "encrypts what a sync publishes, backups, and keys of homes"},
	{"github.com/minio/minio-go/", []string{"internal/ops/sessionsync/s3target"}, "buckets as sync targets"},
	{"github.com/modelcontextprotocol/go-sdk/", []string{"internal/door/mcp", "internal/ops/mcpclient"}, "the protocol's own types and transports"},
	{"github.com/coder/acp-go-sdk", []string{"internal/door/acp"}, "the protocol's types, made from its schema"},
	{"github.com/yuin/goldmark", []string{"internal/render/richtext", "cmd/site"}, "reads Markdown"},
	{"modernc.org/sqlite", []string{"internal/find/fulltext", "internal/disk/litefile"}, "the full-text index, which can be rebuilt; other tools' databases, read only"},
	{"github.com/aymanbagabas/go-udiff", []string{"internal/base/linediff"}, "compares texts line by line"},
	{"golang.org/x/net/html", []string{"tool"}, "converts web pages to text"},
	{"golang.org/x/net/websocket", []string{"examples/slack"}, "the transport of Slack's Socket Mode"},
	{"github.com/fsnotify/fsnotify", []string{"internal/disk/journal"}, "notifies readers of a file that another process appends to"},
}

// testModules lists modules that all test files may import, and test suites in the listed
// packages.
var testModules = []moduleRule{
	{"pgregory.net/rapid", []string{"store/storetest", "internal/formats/dialect/dialecttest", "internal/disk/vfs/..."}, "property tests with shrinking"},
	{"github.com/google/go-cmp/", []string{"store/storetest", "internal/formats/dialect/dialecttest"}, "readable differences"},
	{"github.com/anishathalye/porcupine", nil, "linearizability of concurrent operations"},
	{"github.com/rogpeppe/go-internal/", nil, "command scripts with expected output"},
	{"github.com/hanwen/go-fuse/", []string{"internal/disk/vfs/..."}, "a file system that loses unsynced data"},
	{"github.com/modelcontextprotocol/go-sdk/", nil, "a client for firn mcp"},
	{"github.com/coder/acp-go-sdk", nil, "a client for firn acp"},
	{"golang.org/x/net/html", nil, "parses HTML like browsers, to check its content"},
	{"golang.org/x/net/websocket", nil, "the server's side of Slack's Socket Mode"},
	{"github.com/microcosm-cc/bluemonday", nil, "a sanitizer that must not change rendered HTML"},
	{"github.com/getkin/kin-openapi/", nil, "checks the OpenAPI description"},
	{"github.com/chromedp/", nil, "controls the browser in page tests"},
}

// restrictions restricts operations to packages. An operation is a use of a name ("os.Exit"), an
// import ("import flag") or "func init"; a trailing * matches any ending. Test files may do
// anything.
var restrictions = []restriction{
	{
		what: []string{"func init"},
		in:   []string{"..."},
		why:  "nothing registers itself: cmd wires the tables",
	},
	{
		what: []string{"import . *"},
		in:   []string{"..."},
		why:  "each name shows its package, and these tables can check it",
	},
	{
		what:   []string{"os.Exit", "log.Fatal*", "syscall.Exit"},
		in:     []string{"..."},
		owners: []string{"cmd/...", "examples/...", "proving/..."},
		why:    "only main ends the process",
	},
	{
		what:   []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "os.Setenv", "os.Args", "os.UserHomeDir", "os.UserConfigDir", "os.UserCacheDir", "syscall.Getenv", "import flag", "import github.com/spf13/*"},
		in:     []string{"..."},
		owners: []string{"cmd/...", "internal/ops/config", "internal/term/cli", "examples/...", "proving/...", "internal/base/basetest"},
		why:    "flags and environment are read only in the outermost packages",
	},
	{
		what: []string{
			"os.OpenFile", "os.OpenInRoot", "os.OpenRoot", "os.Create*", "os.Mkdir*", "os.WriteFile", "os.Rename", "os.Remove*",
			"os.Truncate", "os.Link", "os.Symlink", "os.Chmod", "os.CopyFS", "syscall.Open", "syscall.Rename", "syscall.Unlink",
			"import io/ioutil",
		},
		in:     []string{"..."},
		owners: []string{"internal/disk/vfs", "cmd/...", "examples/...", "proving/..."},
		why:    "one package creates files, readable only by their owner, and tests can make it fail",
		except: []exception{{"tool", "opens the workspace as an os.Root, which nothing escapes; the files in it are the user's, not ours"},
			{"internal/ops/instructions", "reads the project as an os.Root, which nothing escapes; makes no file"},
			{"internal/ops/jetstreamtest", "damages and empties the directories of servers that tests have started"}},
	},
	{
		what: []string{
			"import os", "import os/*", "import net", "import net/http*", "import net/rpc*", "import net/smtp", "import io/ioutil", "import syscall", "import context",
			"import golang.org/x/sys/*", "import database/sql*", "import log*",
			"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After*", "time.NewTimer", "time.NewTicker", "time.Tick",
		},
		in:  []string{"internal/formats/dialect/...", "internal/base/route", "window", "internal/find/search", "internal/find/meaning", "internal/find/mask", "internal/render/highlight", "internal/render/richtext", "internal/render/card", "internal/render/page", "internal/term/manual", "internal/gateway/maintenance", "internal/base/typo", "internal/base/fuzzy", "internal/term/match", "internal/ops/unit"},
		why: "these packages are pure: no files, no network, no clock",
	},
	{
		what: []string{"import net/http*"},
		in:   []string{"internal/gateway"},
		why:  "the gateway is independent of HTTP, which is in internal/door/api",
	},
	{
		what: []string{
			"firn.dev.Entry", "firn.dev.NewEntry*", "firn.dev.Message", "firn.dev.Body", "firn.dev.Part", "firn.dev.Kind*", "firn.dev.Glance*", "firn.dev.Record", "firn.dev.NewRecord", "firn.dev.LazyRecord", "firn.dev.Tree",
			"firn.dev/internal/base/rawjson.New*", "encoding/json.Unmarshal", "encoding/json.Marshal*", "encoding/json.New*",
		},
		in:  []string{"internal/disk/journal", "internal/disk/vfs/..."},
		why: "a journal stores lines: it may check that a line is complete JSON, but only dialects interpret it",
	},
}

// TestArchitecture checks every package against the tables.
func TestArchitecture(t *testing.T) {
	for _, violation := range findViolations(loadModule(t)) {
		t.Error(violation)
	}
}

// TestTablesNameExistingPackages reports lines about packages that do not exist.
func TestTablesNameExistingPackages(t *testing.T) {
	packages := loadModule(t)
	check := func(pattern, table string) {
		t.Helper()
		if !slices.ContainsFunc(packages, func(p pkg) bool { return match(pattern, p.path) }) {
			t.Errorf("the table of %s names %s, which does not exist", table, pattern)
		}
	}
	for _, l := range slices.Concat(rooms, narrow) {
		check(l.pkg, "rooms")
		for _, may := range l.may {
			check(may, "rooms")
		}
	}
	for _, f := range families {
		check(f.pkg, "families")
	}
	for _, d := range restrictions {
		for _, in := range slices.Concat(d.in, d.owners) {
			check(strings.TrimPrefix(in, "!"), "restrictions")
		}
		for _, e := range d.except {
			check(e.pkg, "exceptions")
		}
	}
}

// TestRoomsFormNoCycle checks that a room imports only rooms above it in the table.
func TestRoomsFormNoCycle(t *testing.T) {
	packages := loadModule(t)
	for i, r := range rooms {
		for _, may := range r.may {
			for _, p := range packages {
				if may == "..." || !match(may, p.path) {
					continue
				}
				if at := slices.IndexFunc(rooms, func(r room) bool { return match(r.pkg, p.path) }); at > i {
					t.Errorf("%s may import %s, which is below it in the table", r.pkg, p.path)
				}
			}
		}
	}
}

// TestExceptionsAreNeeded reports exceptions that are no longer used.
func TestExceptionsAreNeeded(t *testing.T) {
	packages := loadModule(t)
	for _, d := range restrictions {
		for i, e := range d.except {
			if e.reason == "" {
				t.Errorf("the exception for %s from %q has no reason", e.pkg, d.why)
			}
			without := d
			without.except = slices.Delete(slices.Clone(d.except), i, i+1)
			if len(checkRestrictions(packages, []restriction{without})) == len(checkRestrictions(packages, []restriction{d})) {
				t.Errorf("%s no longer needs its exception from %q", e.pkg, d.why)
			}
		}
	}
}

// TestArchitectureRulesReject checks that each rule rejects a package that breaks it. Each
// case is one file of one package; want is a part of the only violation, or empty.
func TestArchitectureRulesReject(t *testing.T) {
	cases := map[string]struct{ file, source, want string }{
		"the root imports a package":       {"x.go", `import "firn.dev/store"; var _ store.Store`, "may not import firn.dev/store"},
		"the root imports a module":        {"x.go", `import "github.com/nats-io/nats.go"; var _ nats.Conn`, "no line of the table"},
		"the standard library is free":     {"x.go", `import "time"; var _ = time.Now`, ""},
		"a package without a room":         {"util/x.go", ``, "no line in the table of rooms"},
		"a family's parent":                {"store/x.go", `import "firn.dev/store/filestore"; var _ filestore.Store`, "may not import firn.dev/store/filestore"},
		"a sibling":                        {"internal/formats/dialect/pi/x.go", `import "firn.dev/internal/formats/dialect/native"; var _ native.Dialect`, "may not import firn.dev/internal/formats/dialect/native"},
		"a sibling in a test":              {"internal/formats/dialect/pi/x_test.go", `import "firn.dev/internal/formats/dialect/native"; var _ native.Dialect`, ""},
		"a provider's sibling":             {"provider/openai/x.go", `import "firn.dev/provider/offline"; var _ offline.Model`, "may not import"},
		"the suite and the reference":      {"store/storetest/x.go", `import "firn.dev/store/memstore"; var _ memstore.Store`, ""},
		"a journal of entries":             {"internal/disk/journal/x.go", `import "firn.dev"; var _ firn.Entry`, "uses firn.dev.Entry"},
		"a journal of bodies, renamed":     {"internal/disk/journal/x.go", `import names "firn.dev"; var _ names.Body`, "uses firn.dev.Body"},
		"a journal of positions":           {"internal/disk/journal/x.go", `import "firn.dev"; var _ firn.Pos`, ""},
		"a journal that parses":            {"internal/disk/journal/x.go", `import "encoding/json"; var _ = json.Unmarshal`, "uses encoding/json.Unmarshal"},
		"a journal that reads members":     {"internal/disk/journal/x.go", `import "firn.dev/internal/base/rawjson"; var _ = rawjson.New(nil)`, "uses firn.dev/internal/base/rawjson.New"},
		"a journal that validates":         {"internal/disk/journal/x.go", `import "encoding/json"; var _ = json.Valid`, ""},
		"a pure package with a file":       {"window/x.go", `import "os"; var _ = os.Stdin`, "imports os"},
		"a pure package with a network":    {"internal/base/route/x.go", `import "net/http"; var _ http.Client`, "imports net/http"},
		"a pure package with an address":   {"internal/base/route/x.go", `import "net/url"; var _ url.URL`, ""},
		"a pure package with a clock":      {"internal/formats/dialect/native/x.go", `import "time"; func f() { time.Now() }`, "uses time.Now"},
		"a clock as a value":               {"internal/formats/dialect/x.go", `import "time"; var now = time.Now`, "uses time.Now"},
		"a clock under another name":       {"window/x.go", `import clock "time"; var now = clock.Since`, "uses time.Since"},
		"a clock without a name":           {"window/x.go", `import . "time"; var now = Now`, "imports . time"},
		"a time as an argument":            {"window/x.go", `import "time"; var _ time.Time`, ""},
		"a pure package that waits":        {"window/x.go", `import "context"; var _ context.Context`, "imports context"},
		"a client with a store":            {"client/x.go", `import "firn.dev/store"; var _ store.Store`, "may not import firn.dev/store"},
		"a client with a server":           {"client/x.go", `import "firn.dev/internal/door/api"; var _ api.HTTP`, "may not import"},
		"a gateway with an API":            {"internal/gateway/x.go", `import "firn.dev/internal/door/api"; var _ api.HTTP`, "may not import firn.dev/internal/door/api"},
		"a gateway with HTTP":              {"internal/gateway/x.go", `import "net/http"; var _ http.Header`, "imports net/http"},
		"an API with a gateway":            {"internal/door/api/x.go", `import ("net/http"; "firn.dev/internal/gateway"); var _ http.Handler; var _ gateway.Gateway`, ""},
		"a command that opens a store":     {"internal/term/cli/x.go", `import "firn.dev/store/filestore"; var _ filestore.Store`, "may not import"},
		"a screen that opens a store":      {"internal/term/line/x.go", `import "firn.dev/store"; var _ store.Store`, "may not import"},
		"a doctor":                         {"internal/ops/doctor/x.go", `import "firn.dev/internal/disk/journal"; var _ journal.Journal`, ""},
		"an agent with a provider":         {"agent/x.go", `import "firn.dev/provider/anthropic"; var _ anthropic.Model`, "may not import"},
		"an agent with a store":            {"agent/x.go", `import "firn.dev/store/filestore"; var _ filestore.Store`, "may not import"},
		"an agent with a dialect":          {"agent/x.go", `import "firn.dev/internal/formats/dialect/pi"; var _ pi.Dialect`, "may not import"},
		"NATS elsewhere":                   {"internal/gateway/x.go", `import "github.com/nats-io/nats.go"; var _ nats.Conn`, "github.com/nats-io/nats.go"},
		"NATS where it belongs":            {"store/jetstream/x.go", `import "github.com/nats-io/nats.go"; var _ nats.Conn`, ""},
		"a terminal elsewhere":             {"internal/term/cli/x.go", `import "charm.land/bubbletea/v2"; var _ tea.Model`, "charm.land/bubbletea/v2"},
		"a test module":                    {"window/x.go", `import "pgregory.net/rapid"; var _ rapid.T`, "pgregory.net/rapid"},
		"a test module in a test":          {"window/x_test.go", `import "pgregory.net/rapid"; var _ rapid.T`, ""},
		"an unknown module in a test":      {"window/x_test.go", `import "example.org/assert"; var _ assert.T`, "example.org/assert"},
		"flags in a store":                 {"store/filestore/x.go", `import "flag"; var _ = flag.Parse`, "imports flag"},
		"environment in a store":           {"store/filestore/x.go", `import "os"; var _ = os.Getenv("HOME")`, "uses os.Getenv"},
		"arguments in an agent":            {"agent/x.go", `import "os"; var _ = os.Args`, "uses os.Args"},
		"environment in the settings":      {"internal/ops/config/x.go", `import "os"; var _ = os.Getenv("HOME")`, ""},
		"exit in a command":                {"internal/term/cli/x.go", `import "os"; func f() { os.Exit(1) }`, "uses os.Exit"},
		"exit by log":                      {"internal/gateway/x.go", `import "log"; func f() { log.Fatalf("no") }`, "uses log.Fatalf"},
		"exit in main":                     {"cmd/firn/x.go", `import "os"; func f() { os.Exit(1) }`, ""},
		"an init":                          {"store/memstore/x.go", `func init() {}`, "func init"},
		"a method called init":             {"store/memstore/x.go", `type s struct{}; func (s) init() {}`, ""},
		"an init in main":                  {"cmd/firn/x.go", `func init() {}`, "func init"},
		"an init in a test":                {"store/memstore/x_test.go", `func init() {}`, ""},
		"a file created elsewhere":         {"internal/disk/journal/x.go", `import "os"; var _, _ = os.OpenFile("x", 0, 0)`, "uses os.OpenFile"},
		"a directory created elsewhere":    {"store/filestore/x.go", `import "os"; var _ = os.MkdirAll("x", 0o755)`, "uses os.MkdirAll"},
		"a file removed elsewhere":         {"internal/ops/doctor/x.go", `import "os"; var _ = os.RemoveAll("x")`, "uses os.RemoveAll"},
		"a file created where it belongs":  {"internal/disk/vfs/x.go", `import "os"; var _, _ = os.OpenFile("x", 0, 0)`, ""},
		"an internal import in an example": {"examples/x/x.go", `import "firn.dev/internal/disk/journal"; var _ journal.Journal`, "may not import"},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			violations := findViolations([]pkg{parsePackage(t, c.file, "package x; "+c.source)})
			switch {
			case c.want == "" && len(violations) > 0:
				t.Errorf("violations: %q", violations)
			case c.want != "" && (len(violations) != 1 || !strings.Contains(violations[0], c.want)):
				t.Errorf("got violations %q, want one with %q", violations, c.want)
			}
		})
	}
}
