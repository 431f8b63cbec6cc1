package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev"
	"firn.dev/wire"
)

// The options of a session that editors show and set.
const (
	optionModel    sdk.SessionConfigId = "model"
	optionThinking sdk.SessionConfigId = "thinking"
	optionApproval sdk.SessionConfigId = "approval"
)

// configured is the value of an option that means the setting of the agent.
const configured sdk.SessionConfigValueId = wire.Default

// choice is a value of an option.
type choice struct {
	value sdk.SessionConfigValueId
	name  string
}

// thinkingLevels and approvalModes are the values of the options thinking and approval.
var (
	thinkingLevels = []choice{{"off", "Off"}, {"minimal", "Minimal"}, {"low", "Low"}, {"medium", "Medium"}, {"high", "High"}, {"xhigh", "Maximum"}}
	approvalModes  = []choice{{configured, "As configured"}, {"read-only", "Read only"}, {"ask", "Ask"}, {"accept-edits", "Accept edits"}, {"everything", "Everything"}}
)

// options returns the options of a session with their values. The approval mode belongs to
// the editor's session: it is sent with each message and not stored.
func (d *agent) options(ctx context.Context, name sdk.SessionId) ([]sdk.SessionConfigOption, error) {
	s, err := d.c.Session(ctx, string(name))
	if err != nil {
		return nil, err
	}
	models, err := d.c.Models(ctx)
	if err != nil {
		return nil, err
	}
	state := wire.State{}
	if s.State != nil {
		state = *s.State
	}
	current := state.Next
	if current == "" {
		current = state.Provider + "/" + state.Model
	}
	thinking := state.Thinking
	if thinking == "" {
		thinking = "off"
	}
	return []sdk.SessionConfigOption{
		selectOption(optionModel, "Model", sdk.SessionConfigOptionCategoryModel, sdk.SessionConfigValueId(current), modelChoices(models)),
		selectOption(optionThinking, "Thinking", sdk.SessionConfigOptionCategoryThoughtLevel, sdk.SessionConfigValueId(thinking), thinkingLevels),
		selectOption(optionApproval, "Approvals", sdk.SessionConfigOptionCategoryMode, d.approval(name), approvalModes),
	}, nil
}

// unstableOptions returns the options for a response that is not stable yet.
func (d *agent) unstableOptions(ctx context.Context, name sdk.SessionId) ([]sdk.UnstableSessionConfigOption, error) {
	options, err := d.options(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	var out []sdk.UnstableSessionConfigOption
	return out, json.Unmarshal(text, &out)
}

// modelChoices returns the available models.
func modelChoices(models []wire.Model) []choice {
	var all []choice
	for _, m := range models {
		all = append(all, choice{sdk.SessionConfigValueId(m.ID), m.ID})
	}
	return all
}

// selectOption returns an option. A current value that is not among the choices, as that of
// a model which is no longer configured, is added to them.
func selectOption(id sdk.SessionConfigId, name string, category sdk.SessionConfigOptionCategory, current sdk.SessionConfigValueId, choices []choice) sdk.SessionConfigOption {
	if !slices.ContainsFunc(choices, func(c choice) bool { return c.value == current }) {
		choices = append([]choice{{current, string(current)}}, choices...)
	}
	var values sdk.SessionConfigSelectOptionsUngrouped
	for _, c := range choices {
		values = append(values, sdk.SessionConfigSelectOption{Value: c.value, Name: c.name})
	}
	return sdk.SessionConfigOption{Select: &sdk.SessionConfigOptionSelect{
		Id: id, Name: name, Category: &category, CurrentValue: current, Options: sdk.SessionConfigSelectOptions{Ungrouped: &values},
	}}
}

// approval returns the approval mode that the editor chose for a session.
func (d *agent) approval(name sdk.SessionId) sdk.SessionConfigValueId {
	if mode, ok := d.approvals.Load(name); ok {
		return mode.(sdk.SessionConfigValueId)
	}
	return configured
}

// SetSessionConfigOption sets an option of a session and returns all of them.
func (d *agent) SetSessionConfigOption(ctx context.Context, q sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	if q.ValueId == nil {
		return sdk.SetSessionConfigOptionResponse{}, failure(&wire.Problem{Kind: wire.Invalid, Message: "the option is not a boolean"})
	}
	id, err := d.c.Resolve(ctx, string(q.ValueId.SessionId))
	if err == nil {
		err = d.setOption(ctx, id, *q.ValueId)
	}
	if err != nil {
		return sdk.SetSessionConfigOptionResponse{}, failure(err)
	}
	options, err := d.options(ctx, q.ValueId.SessionId)
	return sdk.SetSessionConfigOptionResponse{ConfigOptions: options}, failure(err)
}

// setOption sets one option. The gateway validates models and thinking levels.
func (d *agent) setOption(ctx context.Context, id firn.ID, q sdk.SetSessionConfigOptionValueId) error {
	value := string(q.Value)
	var patch wire.Patch
	switch q.ConfigId {
	case optionModel:
		patch.Model = &value
	case optionThinking:
		patch.Thinking = &value
	case optionApproval:
		if !slices.ContainsFunc(approvalModes, func(c choice) bool { return c.value == q.Value }) {
			return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unknown approval mode %.40q", value)}
		}
		d.approvals.Store(q.SessionId, q.Value)
		return nil
	default:
		return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unknown option %.40q", string(q.ConfigId)), Hint: "the options are model, thinking and approval"}
	}
	_, err := d.c.Patch(ctx, id, patch)
	return err
}
