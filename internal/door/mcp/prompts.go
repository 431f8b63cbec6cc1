package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// invalidParams returns the protocol's error for parameters that are not valid.
func invalidParams(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// The arguments of prompts.
var (
	sessionArgument = &sdk.PromptArgument{Name: "session", Description: "The session: its ID, a prefix of it, its exact title, or @ and a key.", Required: true}
	focusArgument   = &sdk.PromptArgument{Name: "focus", Description: "What the summary is for, or what to look at."}
	taskArgument    = &sdk.PromptArgument{Name: "task", Description: "What to do next; default: the next open step."}
	topicArgument   = &sdk.PromptArgument{Name: "topic", Description: "The words to search notes and sessions for.", Required: true}
	agentArgument   = &sdk.PromptArgument{Name: "agent", Description: "The agent whose notes are searched; default: the agent of the key, or the default agent."}
	keyArgument     = &sdk.PromptArgument{Name: "key", Description: "The key whose notes are searched too. A token that is bound to keys needs one of them."}
)

// addPrompts adds the prompts.
func (d *toolServer) addPrompts(s *sdk.Server) {
	s.AddPrompt(&sdk.Prompt{Name: "recent_sessions", Title: "Recent sessions", Description: "List the latest sessions and choose one to continue."}, d.recentPrompt)
	s.AddPrompt(&sdk.Prompt{Name: "summarize_session", Title: "Summarize a session", Description: "Summarize a session: goal, decisions, results, open questions.",
		Arguments: []*sdk.PromptArgument{sessionArgument, focusArgument}}, d.summaryPrompt)
	s.AddPrompt(&sdk.Prompt{Name: "continue_session", Title: "Continue a session", Description: "Read a session of any agent and continue its work here.",
		Arguments: []*sdk.PromptArgument{sessionArgument, taskArgument}}, d.continuePrompt)
	s.AddPrompt(&sdk.Prompt{Name: "recall_topic", Title: "Recall a topic", Description: "Collect what notes and earlier sessions contain about a topic.",
		Arguments: []*sdk.PromptArgument{topicArgument, agentArgument, keyArgument}}, d.topicPrompt)
}

// userText returns a message of the user.
func userText(text string) *sdk.PromptMessage {
	return &sdk.PromptMessage{Role: "user", Content: &sdk.TextContent{Text: text}}
}

// argument returns an argument of a prompt. A required one must not be empty.
func argument(req *sdk.GetPromptRequest, a *sdk.PromptArgument) (string, error) {
	value := strings.TrimSpace(req.Params.Arguments[a.Name])
	if value == "" && a.Required {
		return "", invalidParams(fmt.Sprintf("the prompt %s needs the argument %s", req.Params.Name, a.Name))
	}
	return value, nil
}

// recentPrompt implements recent_sessions.
func (d *toolServer) recentPrompt(ctx context.Context, _ *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	text, err := d.sessionsText(ctx)
	if err != nil {
		return nil, failure(err)
	}
	return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
		userText("These are the latest sessions, each with its ID, the time of its last entry, and its title:\n\n" + text +
			"\nShow them as a short list and ask which one to continue. Read that one with read_session."),
	}}, nil
}

// summaryPrompt implements summarize_session.
func (d *toolServer) summaryPrompt(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	focus, _ := argument(req, focusArgument) // optional
	return d.aboutSession(ctx, req, func(s wire.Session) string {
		text := fmt.Sprintf("Summarize the session %s (%s): its goal, the decisions with their reasons, the results, and what is open. Quote names, paths and numbers exactly.", s.ID, title(s))
		if focus != "" {
			text += "\nFocus on: " + focus
		}
		return text
	})
}

// continuePrompt implements continue_session.
func (d *toolServer) continuePrompt(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	task, _ := argument(req, taskArgument) // optional
	return d.aboutSession(ctx, req, func(s wire.Session) string {
		text := fmt.Sprintf("This is the session %s (%s). Continue its work here; read earlier messages with read_session if you need them.", s.ID, title(s))
		if task != "" {
			return text + "\nNext: " + task
		}
		return text + "\nBegin with the next open step."
	})
}

// aboutSession returns a prompt with the messages of a session as an embedded resource, and
// a text.
func (d *toolServer) aboutSession(ctx context.Context, req *sdk.GetPromptRequest, text func(wire.Session) string) (*sdk.GetPromptResult, error) {
	ref, err := argument(req, sessionArgument)
	if err != nil {
		return nil, err
	}
	s, err := d.c.Session(ctx, ref)
	if err != nil && unlessAbsent(err) == nil {
		return nil, invalidParams(sentence(err).Error())
	}
	if err != nil {
		return nil, failure(err)
	}
	messages, err := d.sessionText(ctx, s.ID)
	if err != nil {
		return nil, failure(err)
	}
	return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
		{Role: "user", Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: sessionURI(s.ID), MIMEType: "text/plain", Text: messages}}},
		userText(text(s)),
	}}, nil
}

// topicPrompt implements recall_topic.
func (d *toolServer) topicPrompt(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	topic, err := argument(req, topicArgument)
	if err != nil {
		return nil, err
	}
	agent, _ := argument(req, agentArgument) // optional, as the key
	key, _ := argument(req, keyArgument)
	hits, err := d.c.Memory.Recall(ctx, wire.MemoryPlace{Agent: agent, Key: key}, topic, 10)
	if err != nil {
		return nil, failure(err)
	}
	var b strings.Builder
	for i, h := range hits {
		b.WriteString(recalledText(i+1, h))
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "no results for %q\n", prose.OneLine(topic, 100))
	}
	return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
		userText("Notes and earlier sessions about " + prose.OneLine(topic, 200) + ":\n\n" + b.String() +
			"\nState what is known about it, with the source of each fact. Search with search_sessions if this is not enough."),
	}}, nil
}
