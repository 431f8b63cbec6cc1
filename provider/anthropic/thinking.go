package anthropic

import (
	"firn.dev/provider"
)

// plan holds the parameters of a request that depend on the thinking level.
type plan struct {
	maxTokens int64
	// budget is the maximum number of thinking tokens; zero disables thinking by budget.
	budget int64
	// adaptive means that the model decides how much to think.
	adaptive bool
	// effort is the effort level; empty means the model's default.
	effort string
}

// thinks reports whether thinking is on, so that earlier thinking may be sent.
func (p plan) thinks() bool { return p.budget > 0 || p.adaptive }

const (
	// assumedOutput is the output limit assumed for a model whose limit is unknown.
	assumedOutput = 8192
	// minBudget is the smallest budget that the API accepts.
	minBudget = 1024
	// minAnswer is the minimum number of tokens left for the answer besides thinking.
	minAnswer = 1024
	// minOutput is requested even if the window appears to be full, because only the
	// provider knows the exact count.
	minOutput = 4096
)

// budgets maps thinking levels to token budgets.
var budgets = map[provider.Thinking]int64{
	provider.ThinkMinimal: minBudget,
	provider.ThinkLow:     2048,
	provider.ThinkMedium:  8192,
	provider.ThinkHigh:    16384,
	provider.ThinkMax:     32768,
}

// efforts maps thinking levels to the API's effort names.
var efforts = map[provider.Thinking]string{
	provider.ThinkMinimal: "low",
	provider.ThinkLow:     "low",
	provider.ThinkMedium:  "medium",
	provider.ThinkHigh:    "high",
	provider.ThinkMax:     "xhigh",
}

// planFor returns the plan for a request. canBudget reports whether a thinking budget is
// allowed; see canBudgetThinking.
func planFor(s settings, req provider.Request, canBudget bool) plan {
	effort := efforts[req.Thinking]
	switch {
	case s.generation.adaptive && (s.generation.always || s.spec.Thinks && effort != ""):
		return adaptivePlan(s, req, effort)
	case s.spec.Thinks && !s.generation.adaptive && canBudget && budgets[req.Thinking] > 0:
		return budgetPlan(s, req, budgets[req.Thinking])
	}
	return plan{maxTokens: maxTokens(s.spec, req, 0)}
}

// adaptivePlan returns a plan with an effort level. For a model that cannot turn thinking
// off, the lowest effort is used instead of off.
func adaptivePlan(s settings, req provider.Request, effort string) plan {
	if effort == "" {
		effort = "low"
	}
	if effort == "xhigh" && !s.generation.xhigh {
		effort = "max"
	}
	return plan{maxTokens: maxTokens(s.spec, req, 0), adaptive: true, effort: effort}
}

// budgetPlan returns a plan with a thinking budget that leaves room for the answer. If
// there is no room, thinking is off.
func budgetPlan(s settings, req provider.Request, budget int64) plan {
	limit := maxTokens(s.spec, req, budget)
	rest := int64(minAnswer)
	if req.MaxTokens > 0 {
		rest = min(rest, req.MaxTokens)
	}
	budget = min(budget, limit-rest)
	if budget < minBudget {
		return plan{maxTokens: maxTokens(s.spec, req, 0)}
	}
	return plan{maxTokens: limit, budget: budget}
}

// maxTokens returns the output limit, including thinking: the caller's limit plus the
// budget, or else the model's limit, bounded by the remaining window.
func maxTokens(spec provider.Spec, req provider.Request, budget int64) int64 {
	limit := spec.MaxOutput
	switch {
	case req.MaxTokens > 0:
		limit = req.MaxTokens + budget
	case spec.MaxOutput <= 0:
		limit = assumedOutput + budget
	}
	if spec.MaxOutput > 0 {
		limit = min(limit, spec.MaxOutput)
	}
	if spec.Window > 0 {
		used := req.Window.Tokens.Total
		left := spec.Window - used - used/16 // estimates are slightly off
		limit = min(max(left, min(limit, minOutput)), limit, spec.Window)
	}
	return limit
}

// canBudgetThinking reports whether the API accepts a thinking budget now. The answers that
// led up to the newest tool results count as one assistant turn, which must start with
// thinking: "Expected `thinking` or `redacted_thinking`, but found `tool_use`". The turn does
// not start with thinking if thinking was off when it began, or if another model began it.
// The same applies to the part of the turn after a user message.
//
// Later answers of the turn need no thinking: models of these generations mostly think only
// once. Turning thinking off for them would invalidate the cache.
func canBudgetThinking(turns []turn) bool {
	for i := len(turns) - 1; i > 0 && turns[i].results(); i -= 2 {
		first := i < 2 || !turns[i-2].onlyResults() // the answer follows a user message
		if first && !turns[i-1].thinking() {
			return false
		}
	}
	return true
}
