package anthropic

import (
	"firn/provider"
)

// plan is how an answer is asked for.
type plan struct {
	maxTokens int64
	// budget is how many tokens of the answer may be thinking; zero for none.
	budget int64
	// adaptive says that the model decides how much to think.
	adaptive bool
	// effort is how hard it shall try; empty leaves it to the model.
	effort string
}

// thinks reports whether thinking is on, so that earlier thinking may be sent.
func (p plan) thinks() bool { return p.budget > 0 || p.adaptive }

const (
	// assumedOutput is how long an answer of a model may be of which we do not
	// know it.
	assumedOutput = 8192
	// leastBudget is the smallest budget that the API takes.
	leastBudget = 1024
	// leastAnswer is what must be left for the answer besides the thinking.
	leastAnswer = 1024
	// leastRoom is asked for even if the window seems to be full: only the
	// provider knows whether it is.
	leastRoom = 4096
)

// budgets are the tokens for thinking, by how hard to think.
var budgets = map[provider.Thinking]int64{
	provider.ThinkMinimal: leastBudget,
	provider.ThinkLow:     2048,
	provider.ThinkMedium:  8192,
	provider.ThinkHigh:    16384,
	provider.ThinkMax:     32768,
}

// efforts are the names of the API for the same.
var efforts = map[provider.Thinking]string{
	provider.ThinkMinimal: "low",
	provider.ThinkLow:     "low",
	provider.ThinkMedium:  "medium",
	provider.ThinkHigh:    "high",
	provider.ThinkMax:     "xhigh",
}

// planFor decides how to ask. Ready says that a budget for thinking may be
// given: see ready.
func planFor(s settings, req provider.Request, ready bool) plan {
	effort := efforts[req.Thinking]
	switch {
	case s.age.adaptive && (s.age.always || s.spec.Thinks && effort != ""):
		return adaptivePlan(s, req, effort)
	case s.spec.Thinks && !s.age.adaptive && ready && budgets[req.Thinking] > 0:
		return budgetPlan(s, req, budgets[req.Thinking])
	}
	return plan{maxTokens: maxTokens(s.spec, req, 0)}
}

// adaptivePlan tells an effort. A model that cannot be kept from thinking is
// told the least one instead of off.
func adaptivePlan(s settings, req provider.Request, effort string) plan {
	if effort == "" {
		effort = "low"
	}
	if effort == "xhigh" && !s.age.xhigh {
		effort = "max"
	}
	return plan{maxTokens: maxTokens(s.spec, req, 0), adaptive: true, effort: effort}
}

// budgetPlan gives a budget that leaves room for the answer. If there is no
// room for any, there is no thinking.
func budgetPlan(s settings, req provider.Request, budget int64) plan {
	most := maxTokens(s.spec, req, budget)
	rest := int64(leastAnswer)
	if req.MaxTokens > 0 {
		rest = min(rest, req.MaxTokens)
	}
	budget = min(budget, most-rest)
	if budget < leastBudget {
		return plan{maxTokens: maxTokens(s.spec, req, 0)}
	}
	return plan{maxTokens: most, budget: budget}
}

// maxTokens is how long an answer may be, with its thinking: what the caller
// asked for besides the thinking, or else what the model can do, within what
// is left of the window.
func maxTokens(spec provider.Spec, req provider.Request, budget int64) int64 {
	most := spec.MaxOutput
	switch {
	case req.MaxTokens > 0:
		most = req.MaxTokens + budget
	case spec.MaxOutput <= 0:
		most = assumedOutput + budget
	}
	if spec.MaxOutput > 0 {
		most = min(most, spec.MaxOutput)
	}
	if spec.Window > 0 {
		used := req.Window.Tokens.Total
		left := spec.Window - used - used/16 // estimates are off by a little
		most = min(max(left, min(most, leastRoom)), most, spec.Window)
	}
	return most
}

// ready reports whether the API takes a budget for thinking now. The answers
// that led up to the newest tool results count as one turn of the assistant,
// and that must begin with thinking: "Expected `thinking` or
// `redacted_thinking`, but found `tool_use`". It does not if thinking was off
// when the turn began, or another model began it. So does a part of the turn
// that the user spoke before.
//
// Answers later in the turn need not: models of that age mostly think only
// once. Switching it off for their sake would throw away what is cached.
func ready(turns []turn) bool {
	for i := len(turns) - 1; i > 0 && turns[i].results(); i -= 2 {
		spoken := i < 2 || !turns[i-2].onlyResults()
		if spoken && !turns[i-1].thinking() {
			return false
		}
	}
	return true
}
