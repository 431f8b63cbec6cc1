package firn_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// This file generates docs/api.md from docs/openapi.json, which another test keeps in sync
// with the gateway.

// apiPreface is the start of the page.
const apiPreface = "# API reference\n\n" +
	"Every operation and type of the gateway's HTTP API. [protocol.md](protocol.md) explains them with\nexamples. A test generates this page from [openapi.json](openapi.json), which a gateway also serves\nat `/openapi.json`.\n\n" +
	"The examples use the home's socket, which needs no token. Over TCP, use\n`curl -H \"Authorization: Bearer $FIRN_TOKEN\" http://127.0.0.1:7766/…`. Each scope includes those\nbefore it: `hook`, `read`, `write`, `admin`. The scope `sync` is included only in `admin`.\n\n" +
	"Bodies are JSON. Lists are paged: pass the `cursor` of a response to get the next page. Keys in a path\nare URL-encoded: `agent:main:main` needs no escaping, a slash does.\n"

// apiGroups are the chapters of the page and the first path elements that belong to each.
var apiGroups = []struct {
	title string
	tags  []string
}{
	{"Sessions", []string{"sessions", "answers", "bin", "blame"}},
	{"Events", []string{"events", "running"}},
	{"Keys and messages from outside", []string{"keys", "inbound", "hooks"}},
	{"Search and memory", []string{"search", "index", "tags", "memory"}},
	{"Agents, models and settings", []string{"agents", "models", "settings"}},
	{"Other tools", []string{"formats", "import", "sources"}},
	{"OpenAI-compatible API", []string{"chat", "responses", "conversations"}},
	{"Anthropic-compatible API", []string{"messages"}},
	{"User interfaces (AG-UI)", []string{"ag-ui"}},
	{"Authentication", []string{"tokens", "me", "logins", "login", "logout"}},
	{"Gateway", []string{"status", "ops", "usage", "jobs", "maintenance", "verify", "store", "sync", "health"}},
}

// apiParameters are the example values of path parameters.
var apiParameters = map[string]string{
	"id": "0198c5a2", "entry": "HEAD", "cid": "1m7hc7xwpykzz", "key": "agent:main:main", "token": "phone", "hook": "deploy", "job": "morning", "n": "1",
	"model": "main", "agent": "main", "response": "resp_1", "conversation": "conv_1", "item": "msg_1m7hc7xwpykzz", "note": "release-plan", "change": "c1", "session": "0198c5a2-5f6e-7abc-8def-0123456789ab", "file": "firn-sync.json",
}

// apiExamples are example queries and bodies of operations that need one.
var apiExamples = map[string]string{
	"search": "?q=flaky+test", "recall": "?q=release", "turn": `{"text":"hello"}`, "answerOnce": `{"entries":[{"type":"message","id":"1m7hc7xwpykzz","message":{"role":"user","content":"hello"}}]}`, "patchSession": `{"title":"a trip to Oslo"}`, "newSession": `{"title":"a trip to Oslo"}`,
	"appendEntries": `{"entries":[{"type":"message","message":{"role":"user","content":"hello"}}]}`, "rewind": `{"back":1}`, "rewindFiles": `{"back":1,"plan":true}`, "blame": "?path=/src/main.go", "fork": `{"at":"HEAD~2"}`,
	"hide": `{"entry":"HEAD"}`, "show": `{"entry":"HEAD"}`, "label": `{"entry":"HEAD","name":"before-the-mess"}`, "compact": `{"hint":"keep the names"}`,
	"purge": `{"sure":"0198c5a2-5f6e-7abc-8def-0123456789ab"}`, "patchSessions": `{"ids":["0198c5a2"],"patch":{"archived":true}}`,
	"inbound": `{"channel":"telegram","peerKind":"direct","peerId":"ann","text":"hello","wait":true}`, "pointKey": `{"session":"0198c5a2"}`,
	"emptyBin": `{"plan":true}`, "remember": `{"text":"Releases are on Fridays."}`, "editNote": `{"text":"Releases are on Mondays."}`, "createToken": `{"name":"phone","scope":"read"}`,
	"login": `{"code":"…"}`, "callHook": `{"version":"1.2"}`, "chatCompletion": `{"model":"main","messages":[{"role":"user","content":"hello"}]}`,
	"createMessage": `{"model":"main","max_tokens":1000,"messages":[{"role":"user","content":"hello"}]}`, "countTokens": `{"model":"main","messages":[{"role":"user","content":"hello"}]}`,
	"runAgent": `{"threadId":"support-1","runId":"run-1","messages":[{"id":"m1","role":"user","content":"hello"}],"tools":[],"context":[]}`, "runNamedAgent": `{"threadId":"support-1","runId":"run-1","messages":[{"id":"m1","role":"user","content":"hello"}],"tools":[],"context":[]}`,
	"createResponse": `{"model":"main","input":"hello"}`, "createItems": `{"items":[{"type":"message","role":"user","content":"hello"}]}`, "createConversation": `{}`,
	"mcp": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "importSession": "@session.jsonl", "putSyncFile": "@firn-sync.json", "usage": "?by=model", "exportSession": "?format=codex",
}

// These types are the parts of the OpenAPI description that are read here.
type (
	apiDoc struct {
		Paths      map[string]map[string]apiOperation
		Components struct{ Schemas map[string]apiSchema }
	}
	apiOperation struct {
		OperationID, Summary string
		Tags                 []string
		Parameters           []struct {
			Name, In, Description string
			Schema                apiSchema
		}
		RequestBody *struct {
			Required bool
			Content  map[string]struct{ Schema apiSchema }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema apiSchema }
		}
		Scope string `json:"x-scope"`
		Alias string `json:"x-alias"`
	}
	apiSchema struct {
		Ref                  string `json:"$ref"`
		Type                 any
		Format               string
		Enum                 []string
		Items                *apiSchema
		AdditionalProperties *apiSchema
		Properties           map[string]apiSchema
		Required             []string
		ContentSchema        *apiSchema
	}
)

// TestAPIPage keeps docs/api.md equal to the description.
func TestAPIPage(t *testing.T) {
	var doc apiDoc
	if err := json.Unmarshal([]byte(readFile(t, "docs/openapi.json")), &doc); err != nil {
		t.Fatal(err)
	}
	page, left := apiPage(doc)
	if len(left) > 0 {
		t.Errorf("no chapter has the operations of %v: add them to apiGroups", left)
	}
	if os.Getenv("FIRN_UPDATE") != "" {
		if err := os.WriteFile("docs/api.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if readFile(t, "docs/api.md") != page {
		t.Error("docs/api.md is out of date; regenerate it with FIRN_UPDATE=1 go test -run TestAPIPage .")
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if !strings.Contains(page, "### "+strings.ToUpper(method)+" "+path+"\n") {
				t.Errorf("the page does not contain %s %s", method, path)
			}
		}
	}
	if strings.Contains(page, "{}/") || strings.Contains(page, "curl --unix-socket ~/.firn/gateway.sock http://localhost\n") {
		t.Error("a curl line has an unfilled placeholder")
	}
}

// apiPage returns the page and the operations that no chapter contains.
func apiPage(doc apiDoc) (page string, left []string) {
	var b strings.Builder
	b.WriteString(apiPreface)
	known := make(map[string]bool)
	for _, g := range apiGroups {
		fmt.Fprintf(&b, "\n## %s\n", g.title)
		for _, tag := range g.tags {
			known[tag] = true
			for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
				for _, method := range []string{"get", "post", "put", "patch", "delete"} {
					if op, ok := doc.Paths[path][method]; ok && op.Tags[0] == tag {
						writeOperation(&b, strings.ToUpper(method), path, op)
					}
				}
			}
		}
	}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			if !known[op.Tags[0]] {
				left = append(left, op.OperationID)
			}
		}
	}
	b.WriteString("\n## Errors\n\nEvery operation can respond with a status of 400 or more and a [Failure](#failure). Its `kind` is one of\n")
	b.WriteString(codeList(doc.Components.Schemas["Problem"].Properties["kind"].Enum) + ";\nsee [protocol.md](protocol.md#errors).\n\n## Types\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		writeSchema(&b, name, doc.Components.Schemas[name])
	}
	return b.String(), left
}

func writeOperation(b *strings.Builder, method, path string, op apiOperation) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s", method, path, op.Summary)
	if op.Scope != "" {
		fmt.Fprintf(b, " Scope: `%s`.", op.Scope)
	} else {
		b.WriteString(" No token needed.")
	}
	if op.Alias != "" {
		fmt.Fprintf(b, " Also `%s`.", op.Alias)
	}
	b.WriteString("\n\n")
	if len(op.Parameters) > 0 {
		b.WriteString("| Parameter | Type | Description |\n|---|---|---|\n")
	}
	for _, p := range op.Parameters {
		kind := p.Schema.text()
		if p.In != "query" {
			kind = p.In
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, kind, tableCell(p.Description))
	}
	if len(op.Parameters) > 0 {
		b.WriteByte('\n')
	}
	var sends []string
	if op.RequestBody != nil {
		for _, kind := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
			sends = append(sends, bodyText(kind, op.RequestBody.Content[kind].Schema))
		}
		if !op.RequestBody.Required {
			sends[0] += " (optional)"
		}
		fmt.Fprintf(b, "Request: %s. ", strings.Join(sends, " or "))
	}
	var gives []string
	for _, kind := range slices.Sorted(maps.Keys(op.Responses["200"].Content)) {
		gives = append(gives, bodyText(kind, op.Responses["200"].Content[kind].Schema))
	}
	fmt.Fprintf(b, "Response: %s.\n\n```sh\n%s\n```\n", strings.Join(gives, ", or "), curlLine(method, path, op))
}

// bodyText describes a body by its schema or content type.
func bodyText(kind string, s apiSchema) string {
	switch {
	case kind == "text/event-stream" && s.ContentSchema != nil:
		return "events (`text/event-stream`), each " + s.ContentSchema.text()
	case kind == "application/json" && s.Ref != "":
		return s.text()
	case kind == "*/*":
		return "any content type"
	}
	return "`" + kind + "`"
}

// curlLine returns an example command for an operation.
func curlLine(method, path string, op apiOperation) string {
	line := "curl --unix-socket ~/.firn/gateway.sock"
	for _, segment := range strings.Split(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			path = strings.Replace(path, segment, apiParameters[strings.TrimSuffix(name, "}")], 1)
		}
	}
	ask := apiExamples[op.OperationID]
	query, body := "", ask
	if strings.HasPrefix(ask, "?") {
		query, body = ask, ""
	}
	if body == "" && op.RequestBody != nil && op.RequestBody.Required {
		body = "{}"
	}
	if strings.HasPrefix(op.OperationID, "log") && op.Scope == "" {
		line += " -H X-Firn:web"
	}
	_, streams := op.Responses["200"].Content["text/event-stream"]
	if streams && len(op.Responses["200"].Content) == 1 {
		line += " -N"
	}
	if method != "GET" && (method != "POST" || body == "") {
		line += " -X " + method
	}
	switch {
	case strings.HasPrefix(body, "@"):
		line += " --data-binary " + body
	case body != "":
		line += " -H Content-Type:application/json -d '" + body + "'"
	}
	address := "http://localhost" + path + query
	if strings.Contains(address, "?") {
		address = "'" + address + "'"
	}
	return line + " " + address
}

func writeSchema(b *strings.Builder, name string, s apiSchema) {
	fmt.Fprintf(b, "\n### %s\n", name)
	if len(s.Properties) == 0 {
		fmt.Fprintf(b, "\nType: %s.\n", s.text())
		return
	}
	b.WriteString("\n| Member | Type | Required |\n|---|---|---|\n")
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		required := ""
		if slices.Contains(s.Required, member) {
			required = "yes"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", member, s.Properties[member].text(), required)
	}
}

// text describes the type of a value.
func (s apiSchema) text() string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case len(s.Enum) > 0:
		return codeList(s.Enum)
	case s.Items != nil:
		return "list of " + s.Items.text()
	case s.AdditionalProperties != nil:
		return "map of " + s.AdditionalProperties.text()
	case s.Format == "date-time":
		return "time"
	}
	switch t := s.Type.(type) {
	case string:
		return t
	case nil:
		return "anything"
	default:
		return strings.Trim(fmt.Sprint(t), "[]")
	}
}

func codeList(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// tableCell escapes a text for a Markdown table.
func tableCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(text)
}
