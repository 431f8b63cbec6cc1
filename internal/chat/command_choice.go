package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"firn"
	"firn/agent"
	"firn/provider"
)

// chooseModel chooses who answers in this session from now on.
func (c *chat) chooseModel(ctx context.Context, name string) error {
	if name == "" {
		path, err := c.path(ctx)
		if err != nil {
			return err
		}
		c.screen.say("%s answers; the providers are %s", c.modelName(path), strings.Join(Providers(), ", "))
		return nil
	}
	providerName, model, err := cutModel(name)
	if err != nil {
		return err
	}
	if _, err := c.models.find(providerName, model); err != nil {
		return err
	}
	if err := c.agent.Override(ctx, c.id, agent.Override{Provider: providerName, Model: model}); err != nil {
		return err
	}
	c.screen.say("%s answers in this session from now on", clean(name))
	return nil
}

// think chooses how hard the model thinks in this session from now on.
func (c *chat) think(ctx context.Context, level string) error {
	if level == "" {
		path, err := c.path(ctx)
		if err != nil {
			return err
		}
		if level = path.Chosen.ThinkingLevel; level == "" {
			level = string(provider.ThinkOff)
		}
		c.screen.say("thinking is %s; the levels are %s", clean(level), strings.Trim(fmt.Sprint(levels), "[]"))
		return nil
	}
	if err := checkThinking(level); err != nil {
		return err
	}
	if err := c.agent.Override(ctx, c.id, agent.Override{Thinking: provider.Thinking(level)}); err != nil {
		return err
	}
	c.screen.say("thinking is %s in this session from now on", level)
	return nil
}

func (c *chat) verbose(ctx context.Context, on string) error {
	if err := needs("verbose", on); err != nil {
		return err
	}
	if err := c.agent.Override(ctx, c.id, agent.Override{Verbose: on}); err != nil {
		return err
	}
	c.screen.say("verbose is %s in this session from now on", on)
	return nil
}

// remember notes something, as the agent itself would.
func (c *chat) remember(ctx context.Context, text string) error {
	if err := needs("remember", text); err != nil {
		return err
	}
	arguments, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return err
	}
	result, err := c.memoryWrite().Run(ctx, arguments)
	if err != nil {
		return err
	}
	c.screen.say("%s", oneLine(firn.JoinText(result.Parts), 200))
	return nil
}
