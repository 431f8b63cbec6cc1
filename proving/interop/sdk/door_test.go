package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	claude "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/anthropicapi"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/openaiapi"
	"firn.dev/internal/door/token"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/memstore"
	"firn.dev/window"
	"firn.dev/wire"
)

// door is a gateway over HTTP with a token, and the SDKs as its clients.
type door struct {
	*openai.Client
	claude anthropic.Client
	t      *testing.T
	// session is the session of the last answer.
	session string
	// asked is the last request to the model.
	asked provider.Request
	store *filestore.Store
}

// sessions returns the number of sessions.
func (d *door) sessions() (n int) {
	d.t.Helper()
	for _, err := range d.store.List(d.t.Context(), store.Query{}) {
		d.must(err)
		n++
	}
	return n
}

// openDoor opens a gateway whose model echoes, and calls the tool weather if it is
// available.
func openDoor(t *testing.T, options ...option.RequestOption) *door {
	t.Helper()
	home := t.TempDir()
	d := &door{t: t}
	st, err := filestore.Open(home, filestore.Options{})
	d.must(err)
	d.store = st
	var model *scripted.Model
	info := scripted.Info()
	info.Formats = true
	model = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		d.asked = req
		return model.Play(ctx, req, reply(req))
	})
	g, err := gateway.New(gateway.Options{Store: st, Dialect: native.New(), Home: home, Scratch: func() store.Store { return memstore.New(memstore.Options{}) }, Setup: gateway.Setup{
		Default: "main", Agents: map[string]*agent.Agent{"main": {Name: "main", Store: st, Model: model, NoTitles: true}},
		Known: func() []wire.Model { return []wire.Model{{ID: "scripted/test"}} },
	}})
	d.must(err)
	tokens, err := token.Open(context.Background(), token.NewFile(vfs.OS{}, api.TokensPath(home)), nil)
	d.must(err)
	made, err := tokens.Create(context.Background(), wire.NewToken{Name: "sdk", Scope: wire.ScopeWrite})
	d.must(err)
	server := httptest.NewServer(api.Handler(g, api.Config{Tokens: tokens, OpenAI: openaiapi.New(nil).Handler, Anthropic: anthropicapi.New(nil, window.Chars{}.CountMessage).Handler}))
	t.Cleanup(func() {
		server.Close()
		d.must(errors.Join(g.Close(context.Background()), st.Close()))
	})
	note := func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		response, err := next(r)
		if err == nil {
			d.session = response.Header.Get("X-Firn-Session")
		}
		return response, err
	}
	c := openai.NewClient(append([]option.RequestOption{option.WithBaseURL(server.URL + "/v1"), option.WithAPIKey(made.Secret), option.WithMaxRetries(0), option.WithMiddleware(note)}, options...)...)
	d.Client = &c
	d.claude = anthropic.NewClient(claude.WithBaseURL(server.URL), claude.WithAPIKey(made.Secret), claude.WithMaxRetries(0), claude.WithMiddleware(note))
	return d
}

// reply returns the model's answer.
func reply(req provider.Request) scripted.Step {
	last := req.Window.Items[len(req.Window.Items)-1].Message
	for _, p := range last.Parts {
		if r, ok := p.(firn.ToolResult); ok {
			return scripted.Reply("it is " + firn.JoinText(r.Content))
		}
	}
	if len(req.Tools) > 0 {
		return scripted.Call("call_1", req.Tools[0].Name, `{"city":"Graz"}`)
	}
	return scripted.Think("well", "re: "+last.Text())
}

func (d *door) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// TestDoorChat checks that requests of a program that keeps the conversation itself
// continue one session.
func TestDoorChat(t *testing.T) {
	d := openDoor(t)
	params := openai.ChatCompletionNewParams{Model: "main", Messages: []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage("Be kind."), openai.UserMessage("one"),
	}}
	first, err := d.Chat.Completions.New(t.Context(), params)
	d.must(err)
	if c := first.Choices[0]; c.Message.Content != "re: one" || c.FinishReason != "stop" || first.Usage.TotalTokens == 0 || first.Object != "chat.completion" {
		t.Errorf("the answer is %s", first.RawJSON())
	}
	session := d.session
	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam(), openai.UserMessage("two"))
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := d.Chat.Completions.NewStreaming(t.Context(), params)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Errorf("a chunk does not fit: %s", stream.Current().RawJSON())
		}
	}
	d.must(stream.Err())
	if all.Choices[0].Message.Content != "re: two" || all.Usage.CompletionTokens == 0 || all.Choices[0].FinishReason != "stop" {
		t.Errorf("the stream makes %+v", all.ChatCompletion)
	}
	if d.session != session || session == "" {
		t.Errorf("it continued in %q, not in %q", d.session, session)
	}
	if n := len(d.asked.Window.Items); n != 3 || d.asked.Window.System != "Be kind." {
		t.Errorf("the model was sent %d messages and %q", n, d.asked.Window.System)
	}
}

// weatherTool is a client tool.
var weatherTool = shared.FunctionDefinitionParam{Name: "weather", Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}}

// TestDoorTools lets the program run its own tool, with and without a stream.
func TestDoorTools(t *testing.T) {
	d := openDoor(t)
	params := openai.ChatCompletionNewParams{
		Model: "main", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("the weather?")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(weatherTool)},
	}
	stream := d.Chat.Completions.NewStreaming(t.Context(), params)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	d.must(stream.Err())
	calls := all.Choices[0].Message.ToolCalls
	if len(calls) != 1 || calls[0].Function.Name != "weather" || calls[0].Function.Arguments != `{"city":"Graz"}` || all.Choices[0].FinishReason != "tool_calls" {
		t.Fatalf("the calls are %+v", all.Choices)
	}
	session := d.session
	params.Messages = append(params.Messages, all.Choices[0].Message.ToParam(), openai.ToolMessage("sunny", calls[0].ID))
	second, err := d.Chat.Completions.New(t.Context(), params)
	d.must(err)
	if second.Choices[0].Message.Content != "it is sunny" || d.session != session {
		t.Errorf("it continued with %s in %s, not %s", second.RawJSON(), d.session, session)
	}
}

// TestDoorResponses continues from response to response, with a stream and tools.
func TestDoorResponses(t *testing.T) {
	d := openDoor(t)
	input := func(text string) responses.ResponseNewParamsInputUnion {
		return responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}
	}
	first, err := d.Responses.New(t.Context(), responses.ResponseNewParams{Model: "main", Input: input("one")})
	d.must(err)
	if first.OutputText() != "re: one" || first.Status != "completed" || first.Usage.OutputTokens == 0 || len(first.Output) != 2 {
		t.Errorf("the response is %s", first.RawJSON())
	}
	stream := d.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "main", Input: input("two"), PreviousResponseID: openai.String(first.ID)})
	text, last := "", responses.ResponseStreamEventUnion{}
	for stream.Next() {
		if last = stream.Current(); last.Type == "response.output_text.delta" {
			text += last.Delta
		}
	}
	d.must(stream.Err())
	if text != "re: two" || last.Type != "response.completed" || last.Response.OutputText() != "re: two" || len(d.asked.Window.Items) != 3 {
		t.Errorf("the stream contains %q and ends with %s", text, last.RawJSON())
	}
	again, err := d.Responses.Get(t.Context(), last.Response.ID, responses.ResponseGetParams{})
	d.must(err)
	if again.OutputText() != "re: two" {
		t.Errorf("retrieved again it is %s", again.RawJSON())
	}
	asking, err := d.Responses.InputItems.List(t.Context(), last.Response.ID, responses.InputItemListParams{Order: "asc"})
	d.must(err)
	var sent []string
	for _, it := range asking.Data {
		sent = append(sent, string(it.Role))
	}
	if all := strings.Join(sent, " "); all != "user assistant user" {
		t.Errorf("the input items are %s", all)
	}
	if _, err := d.Responses.Cancel(t.Context(), last.Response.ID); !isStatus(err, http.StatusBadRequest) {
		t.Errorf("cancel a response that is not in the background: %v", err)
	}
	tools := []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: weatherTool.Parameters}}}
	asked, err := d.Responses.New(t.Context(), responses.ResponseNewParams{Model: "main", Input: input("the weather?"), Tools: tools, PreviousResponseID: openai.String(last.Response.ID)})
	d.must(err)
	call := asked.Output[0]
	if call.Type != "function_call" || call.Name != "weather" {
		t.Fatalf("the output is %s", asked.RawJSON())
	}
	result := responses.ResponseInputItemParamOfFunctionCallOutput("sunny")
	result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
	done, err := d.Responses.New(t.Context(), responses.ResponseNewParams{Model: "main", Tools: tools, PreviousResponseID: openai.String(asked.ID), Input: responses.ResponseNewParamsInputUnion{
		OfInputItemList: responses.ResponseInputParam{result},
	}})
	d.must(err)
	if done.OutputText() != "it is sunny" {
		t.Errorf("the response is %s", done.RawJSON())
	}
	d.must(d.Responses.Delete(t.Context(), done.ID))
	if _, err := d.Responses.Get(t.Context(), done.ID, responses.ResponseGetParams{}); !isStatus(err, http.StatusNotFound) {
		t.Errorf("a response that was deleted: %v", err)
	}
}

// TestDoorConversations keeps a conversation at the gateway.
func TestDoorConversations(t *testing.T) {
	d := openDoor(t)
	c, err := d.Conversations.New(t.Context(), conversations.ConversationNewParams{Metadata: shared.Metadata{"topic": "trip"}})
	d.must(err)
	var response string
	for _, text := range []string{"one", "two"} {
		r, err := d.Responses.New(t.Context(), responses.ResponseNewParams{
			Model: "main", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
			Conversation: responses.ResponseNewParamsConversationUnion{OfString: openai.String(c.ID)},
		})
		d.must(err)
		response = r.ID
	}
	if len(d.asked.Window.Items) != 3 {
		t.Errorf("the model was sent %d messages", len(d.asked.Window.Items))
	}
	got, err := d.Conversations.Get(t.Context(), c.ID)
	d.must(err)
	if topic, _ := got.Metadata.(map[string]any); topic["topic"] != "trip" {
		t.Errorf("the metadata is %v", got.Metadata)
	}
	d.checkMetadata(c.ID)
	pages := d.Conversations.Items.ListAutoPaging(t.Context(), c.ID, conversations.ItemListParams{Limit: openai.Int(1), Order: "asc"})
	var texts []string
	for pages.Next() {
		texts = append(texts, pages.Current().Content.OfMessageContentArray[0].Text)
	}
	d.must(pages.Err())
	if all := strings.Join(texts, "|"); all != "one|re: one|two|re: two" {
		t.Errorf("the items are %s", all)
	}
	d.checkItems(c.ID)
	gone, err := d.Conversations.Delete(t.Context(), c.ID)
	d.must(err)
	if !gone.Deleted {
		t.Error("it was not deleted")
	}
	if _, err := d.Conversations.Get(t.Context(), c.ID); !isStatus(err, http.StatusNotFound) {
		t.Errorf("a conversation that was deleted: %v", err)
	}
	if _, err := d.Responses.Get(t.Context(), response, responses.ResponseGetParams{}); !isStatus(err, http.StatusNotFound) {
		t.Errorf("a response of a conversation that was deleted: %v", err)
	}
	if _, err := d.Responses.InputItems.List(t.Context(), response, responses.InputItemListParams{}); !isStatus(err, http.StatusNotFound) {
		t.Errorf("the input of a conversation that was deleted: %v", err)
	}
}

// checkMetadata replaces the metadata of a conversation.
func (d *door) checkMetadata(conversation string) {
	t := d.t
	t.Helper()
	for _, want := range []shared.Metadata{{"topic": "rail", "year": "2026"}, {}} {
		updated, err := d.Conversations.Update(t.Context(), conversation, conversations.ConversationUpdateParams{Metadata: want})
		d.must(err)
		got, err := d.Conversations.Get(t.Context(), conversation)
		d.must(err)
		for _, c := range []*conversations.Conversation{updated, got} {
			found, _ := c.Metadata.(map[string]any)
			if c.ID != conversation || len(found) != len(want) || len(want) > 0 && (found["topic"] != want["topic"] || found["year"] != want["year"]) {
				t.Errorf("the metadata is %v, want %v", c.Metadata, want)
			}
		}
	}
	for _, wrong := range []shared.Metadata{nil, {"x": strings.Repeat("x", 513)}, {strings.Repeat("x", 65): ""}} {
		if _, err := d.Conversations.Update(t.Context(), conversation, conversations.ConversationUpdateParams{Metadata: wrong}); !isStatus(err, http.StatusBadRequest) {
			t.Errorf("metadata %v: %v", wrong, err)
		}
	}
	if _, err := d.Conversations.Update(t.Context(), "conv_nothing", conversations.ConversationUpdateParams{Metadata: shared.Metadata{"a": "b"}}); !isStatus(err, http.StatusNotFound) {
		t.Errorf("an unknown conversation: %v", err)
	}
}

// TestDoorItemIDs checks that the items of a response have the IDs that the conversation
// lists, streamed or not, and retrieved again.
func TestDoorItemIDs(t *testing.T) {
	d := openDoor(t)
	c, err := d.Conversations.New(t.Context(), conversations.ConversationNewParams{})
	d.must(err)
	ask := func(text string, tools ...responses.ToolUnionParam) responses.ResponseNewParams {
		return responses.ResponseNewParams{
			Model: "main", Tools: tools, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
			Conversation: responses.ResponseNewParamsConversationUnion{OfString: openai.String(c.ID)},
		}
	}
	whole, err := d.Responses.New(t.Context(), ask("one"))
	d.must(err)
	stream := d.Responses.NewStreaming(t.Context(), ask("two"))
	var done, streamed []string
	for stream.Next() {
		e := stream.Current()
		if e.Type == "response.output_item.done" {
			done = append(done, e.Item.ID)
		}
		if e.Type == "response.completed" {
			for _, it := range e.Response.Output {
				streamed = append(streamed, it.ID)
			}
		}
	}
	d.must(stream.Err())
	if strings.Join(done, " ") != strings.Join(streamed, " ") || len(done) != 2 {
		t.Errorf("the stream has the items %v, the response %v", done, streamed)
	}
	again, err := d.Responses.Get(t.Context(), whole.ID, responses.ResponseGetParams{})
	d.must(err)
	called, err := d.Responses.New(t.Context(), ask("the weather?", responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: weatherTool.Parameters}}))
	d.must(err)
	all, err := d.Conversations.Items.List(t.Context(), c.ID, conversations.ItemListParams{Order: "asc"})
	d.must(err)
	var listed []string
	for _, it := range all.Data {
		listed = append(listed, it.ID)
	}
	// The reasoning is the first item of an answer, and not in the list.
	want := []string{whole.Output[1].ID, again.Output[0].ID, streamed[1], called.Output[0].ID}
	if len(listed) != 6 || want[0] != listed[1] || want[1] != listed[1] || want[2] != listed[3] || want[3] != listed[5] {
		t.Errorf("the items are %v, those of the responses %v", listed, want)
	}
	got, err := d.Conversations.Items.Get(t.Context(), c.ID, called.Output[0].ID, conversations.ItemGetParams{})
	d.must(err)
	if got.CallID != "call_1" {
		t.Errorf("the item of the call is %s", got.RawJSON())
	}
}

// TestDoorBadTools checks that a request with invalid tools is rejected and stores nothing.
func TestDoorBadTools(t *testing.T) {
	d := openDoor(t)
	function := func(name string) openai.ChatCompletionToolUnionParam {
		return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name})
	}
	for _, tools := range [][]openai.ChatCompletionToolUnionParam{{function("")}, {function("a b")}, {function("a"), function("a")}} {
		_, err := d.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "main", Tools: tools, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}})
		if !isStatus(err, http.StatusBadRequest) {
			t.Errorf("tools %v: %v", tools, err)
		}
		_, err = d.Responses.New(t.Context(), responses.ResponseNewParams{
			Model: "main", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")},
			Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "a b"}}},
		})
		if !isStatus(err, http.StatusBadRequest) {
			t.Errorf("a response: %v", err)
		}
	}
	if n := d.sessions(); n != 0 {
		t.Errorf("%d sessions are left behind", n)
	}
}

// checkItems retrieves and deletes items of a conversation of "one", "re: one", "two" and
// "re: two".
func (d *door) checkItems(conversation string) {
	t := d.t
	t.Helper()
	all, err := d.Conversations.Items.List(t.Context(), conversation, conversations.ItemListParams{Order: "asc"})
	d.must(err)
	second := all.Data[2]
	got, err := d.Conversations.Items.Get(t.Context(), conversation, second.ID, conversations.ItemGetParams{})
	d.must(err)
	if got.ID != second.ID || got.Content.OfMessageContentArray[0].Text != "two" {
		t.Errorf("the item is %s", got.RawJSON())
	}
	after, err := d.Conversations.Items.Delete(t.Context(), conversation, second.ID)
	d.must(err)
	if after.ID != conversation {
		t.Errorf("after the deletion of an item the conversation is %s", after.RawJSON())
	}
	for _, id := range []string{second.ID, "msg_nothing", "x", "fc_" + strings.TrimPrefix(second.ID, "msg_") + "_7"} {
		if _, err := d.Conversations.Items.Get(t.Context(), conversation, id, conversations.ItemGetParams{}); !isStatus(err, http.StatusNotFound) {
			t.Errorf("item %s: %v", id, err)
		}
	}
	if all, err = d.Conversations.Items.List(t.Context(), conversation, conversations.ItemListParams{Order: "asc"}); err != nil || len(all.Data) != 3 {
		t.Errorf("%d items remain, %v", len(all.Data), err)
	}
}

func isStatus(err error, status int) bool {
	var failure *openai.Error
	return errors.As(err, &failure) && failure.StatusCode == status && failure.Message != ""
}

// TestDoorErrors checks errors as the SDK reads them.
func TestDoorErrors(t *testing.T) {
	d := openDoor(t)
	hello := []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}
	_, err := d.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "gpt-17", Messages: hello})
	var failure *openai.Error
	if !errors.As(err, &failure) || failure.Code != "model_not_found" || failure.Param != "model" || failure.Type != "invalid_request_error" || failure.StatusCode != http.StatusNotFound {
		t.Errorf("a model that does not exist: %v", err)
	}
	_, err = d.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "main", Messages: hello, N: openai.Int(3)})
	if !errors.As(err, &failure) || failure.Param != "n" {
		t.Errorf("three answers: %v", err)
	}
	stranger := openDoor(t, option.WithAPIKey("nobody"))
	if _, err := stranger.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "main", Messages: hello}); !isStatus(err, http.StatusUnauthorized) {
		t.Errorf("without a token: %v", err)
	}
	models, err := d.Models.List(t.Context())
	d.must(err)
	if len(models.Data) != 3 || models.Data[0].ID != "main" {
		t.Errorf("the models are %s", models.RawJSON())
	}
	one, err := d.Models.Get(t.Context(), "scripted/test")
	d.must(err)
	if one.OwnedBy != "scripted" || !json.Valid([]byte(one.RawJSON())) {
		t.Errorf("the model is %s", one.RawJSON())
	}
}

// TestDoorForms asks for an answer that ends at a sequence, for one in a JSON schema, and for
// ones that are not stored.
func TestDoorForms(t *testing.T) {
	d := openDoor(t)
	schema := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
	messages := []openai.ChatCompletionMessageParamUnion{openai.UserMessage("one two three")}
	cut, err := d.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "main", Messages: messages, Stop: openai.ChatCompletionNewParamsStopUnion{OfStringArray: []string{" three", "x"}},
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "count", Strict: openai.Bool(true), Schema: schema},
		}},
	})
	d.must(err)
	if text := cut.Choices[0].Message.Content; text != "re: one two" || cut.Choices[0].FinishReason != "stop" || d.asked.Format == nil || d.asked.Format.Name != "count" {
		t.Errorf("the answer is %s, the format %+v", cut.RawJSON(), d.asked.Format)
	}
	input := func(text string) responses.ResponseNewParamsInputUnion {
		return responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}
	}
	kept := d.sessions()
	unstored, err := d.Responses.New(t.Context(), responses.ResponseNewParams{
		Model: "main", Input: input("one"), Store: openai.Bool(false), Text: responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigParamOfJSONSchema("number", schema)},
	})
	d.must(err)
	if unstored.OutputText() != "re: one" || d.sessions() != kept || d.session != "" || d.asked.Format.Name != "number" {
		t.Errorf("%d sessions instead of %d, %s", d.sessions(), kept, unstored.RawJSON())
	}
	if _, err := d.Responses.New(t.Context(), responses.ResponseNewParams{Model: "main", Input: input("two"), PreviousResponseID: openai.String(unstored.ID)}); !isStatus(err, http.StatusNotFound) {
		t.Errorf("a response that is not stored is continued: %v", err)
	}
	if _, err := d.Responses.Get(t.Context(), unstored.ID, responses.ResponseGetParams{}); !isStatus(err, http.StatusNotFound) {
		t.Errorf("a response that is not stored is retrieved: %v", err)
	}
	chat, err := d.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "main", Messages: messages, Store: openai.Bool(false)})
	d.must(err)
	if chat.Choices[0].Message.Content != "re: one two three" || d.sessions() != kept {
		t.Errorf("%d sessions instead of %d, %s", d.sessions(), kept, chat.RawJSON())
	}
}
