package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"firn.dev"
	firnclient "firn.dev/client"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// notApplicable are the scenarios of the suite that firn's server does not pass, with the
// reason. docs/other-protocols.md lists them too.
var notApplicable = map[string]string{
	"tools-call-image":             "tools return text; images are resources",
	"tools-call-audio":             "sessions have no audio",
	"tools-call-embedded-resource": "tools return text; prompts embed sessions",
	"tools-call-mixed-content":     "tools return text",
	"tools-call-with-logging":      "no log messages are sent; version 2026-07-28 deprecates them",
	"tools-call-sampling":          "firn has its own models; version 2026-07-28 deprecates sampling",
	"tools-call-elicitation":       "questions to the user are approvals of the gateway",
	"elicitation-sep1034-defaults": "the same",
	"elicitation-sep1330-enums":    "the same",
	"json-schema-2020-12":          "the scenario requires its own tool with $defs",
	"server-sse-polling":           "over HTTP there are no protocol sessions to resume",
	"server-sse-multiple-streams":  "over HTTP there are no protocol sessions",
	"resources-subscribe":          "over HTTP from version 2026-07-28, with subscriptions/listen; the suite knows older ones",
	"resources-unsubscribe":        "the same",
	"prompts-get-with-image":       "prompts have text and sessions",
}

// checkConformance runs the server suite of the protocol against a gateway. The suite names
// tools, prompts and resources of its own; a proxy replaces them by those of firn that do the
// same, and adds the token.
func checkConformance(t *testing.T, home, gateway string) {
	token := regexp.MustCompile(`firn_[\w-]+`).FindString(mcpFirn(t, home, "token", "create", "suite", "--scope", "write"))
	proxy := conformanceProxy(t, gateway, token, conformanceNames(t, gateway, token))
	results := t.TempDir()
	cmd := exec.Command(node(t), installed(t, "@modelcontextprotocol", "conformance", "dist", "index.js"), "server", "--url", proxy+"/mcp", "--suite", "all", "-o", results)
	cmd.Env, cmd.Dir = plainEnv(t.TempDir()), results
	out, _ := cmd.CombinedOutput() // fails if any scenario does
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "other-protocols.md"))
	if err != nil {
		t.Fatal(err)
	}
	passed := conformanceResults(t, results)
	if len(passed) < 32 {
		t.Fatalf("%d scenarios ran:\n%s", len(passed), out)
	}
	for name, failure := range passed {
		reason, listed := notApplicable[name]
		switch {
		case listed && failure == "":
			t.Errorf("%s passes, so it does not belong in the table (%s)", name, reason)
		case !listed && failure != "":
			t.Errorf("%s: %s", name, failure)
		case listed && !bytes.Contains(page, []byte("`"+name+"`")):
			t.Errorf("%s is not in docs/other-protocols.md", name)
		}
	}
	for name := range notApplicable {
		if _, ok := passed[name]; !ok {
			t.Errorf("the suite has no scenario %s", name)
		}
	}
}

// conformanceNames creates what the suite asks for, and returns replacements for its
// requests.
func conformanceNames(t *testing.T, gateway, token string) *strings.Replacer {
	t.Helper()
	c, err := firnclient.New(firnclient.Options{Address: gateway, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.NewSession(t.Context(), wire.NewSession{Title: "testValue1"})
	if err != nil {
		t.Fatal(err)
	}
	bodies := []firn.Body{&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Image{Data: "iVBORw0KGgo=", MimeType: "image/png"}}}}
	for i := range 130 {
		bodies = append(bodies, firn.UserText(fmt.Sprintf("message %d", i)).Body)
	}
	var lines []json.RawMessage
	for _, body := range bodies {
		line, err := native.New().Append(nil, firn.NewEntry(body))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	added, err := c.Append(t.Context(), s.ID, firnclient.Any, wire.NewEntries{Entries: lines})
	if err != nil {
		t.Fatal(err)
	}
	of := func(i int) string { return fmt.Sprintf("firn://session/%s/entry/%s", s.ID, added.IDs[i]) }
	long := strings.Repeat("word ", 100)
	return strings.NewReplacer(
		`"test_simple_text"`, `"list_sessions"`,
		`"name":"test_error_handling","arguments":{}`, `"name":"read_session","arguments":{"session":"none"}`,
		`"name":"test_tool_with_progress","arguments":{}`, `"name":"send_message","arguments":{"text":"call mcp__every__echo {\"message\":\"`+long+`\"}"}`,
		"test://static-text", "firn://session/"+string(s.ID), "test://static-binary", of(0)+"/image/1", "test://template/123/data", of(124),
		"test_simple_prompt", "recent_sessions", "test_prompt_with_arguments", "summarize_session", `"arg1"`, `"session"`, `"arg2"`, `"focus"`,
		"test_prompt_with_embedded_resource", "continue_session", `"resourceUri":"test://example-resource"`, `"session":"`+string(s.ID)+`"`,
	)
}

// conformanceProxy forwards requests to a gateway with a token and other names.
func conformanceProxy(t *testing.T, gateway, token string, names *strings.Replacer) string {
	t.Helper()
	target, err := url.Parse(gateway)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // which is checked
		r.Out.Header.Set("Authorization", "Bearer "+token)
		if r.In.Method != http.MethodPost {
			return
		}
		body, _ := io.ReadAll(r.In.Body) // the suite is on this machine
		renamed := names.Replace(string(body))
		r.Out.Body, r.Out.ContentLength = io.NopCloser(strings.NewReader(renamed)), int64(len(renamed))
	}})
	t.Cleanup(s.Close)
	return s.URL
}

// scenarioDirectory is the name of a directory of results.
var scenarioDirectory = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT`)

// conformanceResults returns the reason of each failure, by scenario. It is empty for those
// that passed. A scenario without any successful check has not passed.
func conformanceResults(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, file := range files {
		name := scenarioDirectory.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		data, err := os.ReadFile(file)
		var checks []struct{ ID, Status, ErrorMessage string }
		if err == nil {
			err = json.Unmarshal(data, &checks)
		}
		if err != nil || name == nil {
			t.Fatalf("%s: %v", file, err)
		}
		failure := "no check succeeded"
		for _, c := range checks {
			if c.Status == "SUCCESS" && failure == "no check succeeded" {
				failure = ""
			}
			if c.Status == "FAILURE" {
				failure = c.ID + ": " + c.ErrorMessage
			}
		}
		out[name[1]] = failure
	}
	return out
}
