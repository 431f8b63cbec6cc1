package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/typo"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// patch changes settings of the session. It creates a planned one.
func (c *chat) patch(ctx context.Context, p wire.Patch) error {
	if err := c.ensure(ctx); err != nil {
		return err
	}
	_, err := c.client.Patch(ctx, c.id, p)
	return err
}

// choiceCommands are the commands that choose who answers, and how.
type choiceCommands struct{ *chat }

// chooseAgent sets the agent that answers in this chat.
func (c choiceCommands) chooseAgent(ctx context.Context, name string) error {
	switch name {
	case "":
	case wire.Default:
		c.answerer = ""
	default:
		if err := c.answerAs(ctx, name); err != nil {
			return err
		}
	}
	c.screen.printf("%s answers", prose.Clean(cmp.Or(c.answerer, c.name)))
	return nil
}

// answerAs sets the answering agent, which must exist.
func (c *chat) answerAs(ctx context.Context, name string) error {
	if name == c.name {
		c.answerer = ""
		return nil
	}
	status, err := c.client.Status(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, a := range status.Agents {
		names = append(names, a.ID)
	}
	if !slices.Contains(names, name) {
		err := fmt.Errorf("unknown agent %q", prose.OneLine(name, 40))
		if meant := typo.Nearest(name, names, 2); meant != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, prose.Clean(meant))
		}
		return &Problem{Err: err, Hint: "agents: " + prose.Clean(strings.Join(names, ", ")), Kind: firn.ErrNotFound}
	}
	c.answerer = name
	return nil
}

// agentLine returns the agent of the session, and the one that answers instead.
func (c *chat) agentLine() string {
	if c.answerer == "" {
		return prose.Clean(c.name)
	}
	return prose.Clean(c.name + "; " + c.answerer + " answers")
}

// think sets the thinking level of this session.
func (c choiceCommands) think(ctx context.Context, level string) error {
	if level == "" {
		s, err := c.fetchSession(ctx)
		if err != nil {
			return err
		}
		c.screen.printf("thinking is %s; levels: %s", cmp.Or(c.thinking, thinkingOf(s)), strings.Join(levels, " "))
		return nil
	}
	if err := CheckThinking(level); err != nil {
		return err
	}
	if err := c.patch(ctx, wire.Patch{Thinking: &level}); err != nil {
		return err
	}
	c.thinking = ""
	c.screen.printf("thinking for this session: %s", level)
	return nil
}

// thinkingOf returns the thinking level of a session.
func thinkingOf(s wire.Session) string {
	if s.State == nil || s.State.Thinking == "" {
		return "off"
	}
	return prose.Clean(s.State.Thinking)
}

// auth sets the credentials of model requests in this session.
func (c choiceCommands) auth(ctx context.Context, name string) error {
	if name != "" {
		if err := c.patch(ctx, wire.Patch{Auth: &name}); err != nil {
			return err
		}
	}
	s, err := c.fetchSession(ctx)
	if err != nil {
		return err
	}
	profile := wire.Default
	if s.State != nil && s.State.Auth != "" {
		profile = s.State.Auth
	}
	c.screen.printf("credentials: %s", prose.Clean(profile))
	return nil
}

func (c choiceCommands) verbose(ctx context.Context, on string) error {
	if err := needs("verbose", on); err != nil {
		return err
	}
	if on != "on" && on != "off" {
		return &Problem{Err: fmt.Errorf("verbose is on or off, not %q", prose.OneLine(on, 20)), Hint: "/verbose on shows more detail, /verbose off less", Kind: firn.ErrInvalid}
	}
	if err := c.patch(ctx, wire.Patch{Verbose: &on}); err != nil {
		return err
	}
	c.isVerbose = on == "on"
	c.screen.printf("verbose for this session: %s", on)
	return nil
}

// sendPolicies maps arguments of /send to send policies.
var sendPolicies = map[string]string{"on": "allow", "off": "deny", "inherit": "inherit"}

// send sets whether answers of this session may be sent to the channel of its messages.
func (c choiceCommands) send(ctx context.Context, on string) error {
	if err := needs("send", on); err != nil {
		return err
	}
	policy, ok := sendPolicies[on]
	if !ok {
		return &Problem{Err: fmt.Errorf("send is on, off or inherit, not %q", prose.OneLine(on, 20)), Hint: "/send inherit uses the agent's setting", Kind: firn.ErrInvalid}
	}
	if err := c.patch(ctx, wire.Patch{Send: &policy}); err != nil {
		return err
	}
	c.screen.printf("sending for this session: %s", on)
	return nil
}
