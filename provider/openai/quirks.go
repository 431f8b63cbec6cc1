package openai

import (
	"net/url"
	"strings"

	"firn.dev/provider"
)

// Switch turns a feature on or off; the zero value means the default.
type Switch int

// The values of a [Switch].
const (
	Auto Switch = iota
	On
	Off
)

// The members that control the effort, for [Quirks.EffortField].
const (
	// EffortFlat is a string member, as in OpenAI's API.
	EffortFlat = "reasoning_effort"
	// EffortObject is an object that contains the effort, as in OpenRouter's API.
	EffortObject = "reasoning"
	// EffortNone sends no effort.
	EffortNone = "none"
)

// Quirks describes how a server deviates from the Chat Completions API. The zero value of
// each field is derived from the server's URL or name; for an unknown server it is what
// most servers accept.
type Quirks struct {
	// MaxTokensField is the member that limits the output: "max_tokens" or
	// "max_completion_tokens".
	MaxTokensField string
	// StreamUsage requests the usage at the end of the stream.
	StreamUsage Switch
	// Developer sends the system prompt with the role "developer" instead of "system".
	Developer Switch
	// EffortField is the member for the effort: [EffortFlat], [EffortObject] or
	// [EffortNone].
	EffortField string
	// CacheKey sends the session as a cache key. It applies to the Responses API too.
	CacheKey Switch
	// ToolNames sends the name of the tool with each result.
	ToolNames Switch
}

// serverTraits describes how requests to a server are encoded.
type serverTraits struct {
	maxTokens   string
	streamUsage bool
	developer   bool
	effort      string
	cacheKey    bool
	toolNames   bool
	// minimal and xhigh report which efforts are supported besides low, medium and high.
	minimal, xhigh bool
	// noNull: the content of an assistant message without text is "" instead of null.
	noNull bool
	// signer is the owner of thought signatures in calls, for Google's servers.
	signer string
}

// override returns the traits with the set fields of q applied.
func (q Quirks) override(m serverTraits) serverTraits {
	if q.MaxTokensField != "" {
		m.maxTokens = q.MaxTokensField
	}
	if q.EffortField != "" {
		m.effort = q.EffortField
	}
	set := func(s Switch, b *bool) {
		if s != Auto {
			*b = s == On
		}
	}
	set(q.StreamUsage, &m.streamUsage)
	set(q.Developer, &m.developer)
	set(q.CacheKey, &m.cacheKey)
	set(q.ToolNames, &m.toolNames)
	return m
}

// traitsOf returns the traits of the server at an address. They are derived from the host,
// or from the provider's name if the host is unknown (a proxy, a tunnel). The provider name
// "openai" is ignored because it is the default.
func traitsOf(address, name string, spec provider.Spec) serverTraits {
	at := func(who string, domains ...string) bool {
		return isAt(address, domains...) || who != "" && strings.EqualFold(name, who)
	}
	m := serverTraits{maxTokens: "max_tokens", streamUsage: true, effort: EffortFlat, signer: "google"}
	switch {
	case isOpenAI(address):
		m = serverTraits{maxTokens: "max_completion_tokens", streamUsage: true, developer: spec.Thinks, effort: EffortFlat, cacheKey: true, minimal: true, xhigh: true}
	case at("azure", "azure.com"):
		m = serverTraits{maxTokens: "max_completion_tokens", streamUsage: true, developer: spec.Thinks, effort: EffortFlat, minimal: true, xhigh: true}
	case at("openrouter", "openrouter.ai"):
		m.effort, m.minimal, m.xhigh = EffortObject, true, true
	case at("mistral", "mistral.ai"):
		// It rejects unknown members and always sends the usage.
		m.streamUsage, m.effort, m.toolNames, m.noNull = false, EffortNone, true, true
	case at("google", "generativelanguage.googleapis.com"), at("gemini"):
		m.toolNames, m.minimal = true, true
	case at("vertex", "aiplatform.googleapis.com"):
		m.toolNames, m.minimal, m.signer = true, true, "vertex"
	case at("xai", "x.ai"), at("zai", "z.ai"), at("deepseek", "deepseek.com"):
		m.effort = EffortNone // the effort is not configurable, and some models reject it
	}
	return m
}

// isOpenAI reports whether an address is OpenAI's own.
func isOpenAI(address string) bool { return isAt(address, "api.openai.com") }

// isAt reports whether an address is in one of the domains.
func isAt(address string, domains ...string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, d := range domains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

// level returns the server's name for an effort; empty means the model's default.
func (m serverTraits) level(t provider.Thinking) string {
	switch t {
	case provider.ThinkMinimal:
		if !m.minimal {
			return "low"
		}
	case provider.ThinkMax:
		if !m.xhigh {
			return "high"
		}
	case provider.ThinkLow, provider.ThinkMedium, provider.ThinkHigh:
	default:
		return ""
	}
	return string(t)
}
