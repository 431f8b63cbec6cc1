package openai

import (
	"net/url"
	"strings"

	"firn/provider"
)

// Switch turns something on or off; the zero value leaves it to us.
type Switch int

// The positions of a switch.
const (
	Auto Switch = iota
	On
	Off
)

// Names of the member that says how hard to think, for [Quirks.EffortField].
const (
	// EffortFlat is a member of its own, as OpenAI has it.
	EffortFlat = "reasoning_effort"
	// EffortObject is an object with the effort in it, as OpenRouter has it.
	EffortObject = "reasoning"
	// EffortNone tells the server nothing.
	EffortNone = "none"
)

// Quirks are the places where servers that speak the Chat Completions API
// differ. The zero value of each field means what fits the server as far as
// its address or its name tells; for one we have never heard of, what most
// take.
type Quirks struct {
	// MaxTokensField is the name of the member that bounds an answer:
	// "max_tokens" or "max_completion_tokens".
	MaxTokensField string
	// StreamUsage asks for the usage at the end of the stream.
	StreamUsage Switch
	// Developer lets the system prompt be said by "developer", not "system".
	Developer Switch
	// EffortField is how the server is told how hard to think: [EffortFlat],
	// [EffortObject] or [EffortNone].
	EffortField string
	// CacheKey tells the server which session a request belongs to, so that it
	// finds its cache again. It counts for the Responses API too.
	CacheKey Switch
	// ToolNames tells the name of the tool with each result.
	ToolNames Switch
}

// manners is how a server is talked to.
type manners struct {
	maxTokens   string
	streamUsage bool
	developer   bool
	effort      string
	cacheKey    bool
	toolNames   bool
	// minimal and xhigh say which efforts beside low, medium and high there are.
	minimal, xhigh bool
	// noNull: an assistant that says nothing says an empty text.
	noNull bool
	// signer is who signs the thoughts behind a call, in Google's servers.
	signer string
}

// over lays what was asked for over what was found out.
func (q Quirks) over(m manners) manners {
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

// mannersOf is how the server at an address is talked to. The host decides;
// where it tells nothing (a proxy, a tunnel), the provider's name does. That a
// provider is called openai tells nothing: it is what it is called if nobody
// says.
func mannersOf(address, name string, spec provider.Spec) manners {
	at := func(who string, domains ...string) bool {
		return isAt(address, domains...) || who != "" && strings.EqualFold(name, who)
	}
	m := manners{maxTokens: "max_tokens", streamUsage: true, effort: EffortFlat, signer: "google"}
	switch {
	case isOpenAI(address):
		m = manners{maxTokens: "max_completion_tokens", streamUsage: true, developer: spec.Thinks, effort: EffortFlat, cacheKey: true, minimal: true, xhigh: true}
	case at("azure", "azure.com"):
		m = manners{maxTokens: "max_completion_tokens", streamUsage: true, developer: spec.Thinks, effort: EffortFlat, minimal: true, xhigh: true}
	case at("openrouter", "openrouter.ai"):
		m.effort, m.minimal, m.xhigh = EffortObject, true, true
	case at("mistral", "mistral.ai"):
		// It refuses members that it does not know, and always tells the usage.
		m.streamUsage, m.effort, m.toolNames, m.noNull = false, EffortNone, true, true
	case at("google", "generativelanguage.googleapis.com"), at("gemini"):
		m.toolNames, m.minimal = true, true
	case at("vertex", "aiplatform.googleapis.com"):
		m.toolNames, m.minimal, m.signer = true, true, "vertex"
	case at("xai", "x.ai"), at("zai", "z.ai"), at("deepseek", "deepseek.com"):
		m.effort = EffortNone // they think as they like, and some refuse to be told
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

// level is how the server calls an effort; nothing leaves it to the model.
func (m manners) level(t provider.Thinking) string {
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
