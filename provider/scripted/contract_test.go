package scripted_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/providertest"
	"firn.dev/provider/scripted"
)

func TestContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T, play *providertest.Play) provider.Model {
		info := scripted.Info()
		info.Spec = providertest.Spec()
		var model *scripted.Model
		model = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
			return model.Play(ctx, req, stepOf(play.Next()))
		})
		return model
	}, providertest.NoHTTP)
}

// TestContractOfAConstantScript checks a script that always answers the same.
func TestContractOfAConstantScript(t *testing.T) {
	providertest.Run(t, func(t *testing.T, play *providertest.Play) provider.Model {
		step := scripted.Join(scripted.Think("Hm.", "Well, yes."), scripted.Call("call_1", "now", "{}"))
		return scripted.New(provider.Info{}, scripted.Forever(step))
	}, providertest.NoScript, providertest.NoPrice)
}

// stepOf returns the step for a part of the suite.
func stepOf(part providertest.Part) scripted.Step {
	var step scripted.Step
	a := part.Answer
	if a.Thinking != "" {
		step.Parts = append(step.Parts, firn.Thinking{Text: a.Thinking})
	}
	if a.Text != "" {
		step.Parts = append(step.Parts, firn.Text{Text: a.Text})
	}
	for _, call := range a.Calls {
		if json.Valid(call.Arguments) && call.Arguments[0] == '{' { // scripts pass arguments on unchecked; the contract requires valid ones
			step.Parts = append(step.Parts, call)
		}
	}
	step.Stop, step.Usage = a.Stop, &a.Usage
	if step.Stop == "" {
		step.Stop = firn.StopEnd
	}
	send, then := part.Of(step.Len())
	step.After = send
	switch then {
	case providertest.Broken, providertest.Closed:
		step.End = scripted.Broken
	case providertest.Stalled:
		step.End = scripted.Hung
	}
	return step
}
