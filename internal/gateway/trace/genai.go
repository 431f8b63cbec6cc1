package trace

// The names of attributes, as OpenTelemetry's conventions for generative models
// have them. Those are not stable yet, and no released package of constants has
// them any more, so they are kept here: when the conventions change, this file
// does.
const (
	OperationName  = "gen_ai.operation.name"
	ProviderName   = "gen_ai.provider.name"
	AgentName      = "gen_ai.agent.name"
	ConversationID = "gen_ai.conversation.id"
	RequestModel   = "gen_ai.request.model"
	RequestTokens  = "gen_ai.request.max_tokens"
	ResponseModel  = "gen_ai.response.model"
	FinishReasons  = "gen_ai.response.finish_reasons"
	InputTokens    = "gen_ai.usage.input_tokens"
	OutputTokens   = "gen_ai.usage.output_tokens"
	CacheRead      = "gen_ai.usage.cache_read.input_tokens"
	CacheCreation  = "gen_ai.usage.cache_creation.input_tokens"
	ToolName       = "gen_ai.tool.name"
	ToolCallID     = "gen_ai.tool.call.id"
	ToolType       = "gen_ai.tool.type"
)

// What [OperationName] can be.
const (
	OperationChat  = "chat"
	OperationAgent = "invoke_agent"
	OperationTool  = "execute_tool"
)

// The names of attributes that hold for all kinds of spans, and for HTTP.
const (
	ErrorType  = "error.type"
	HTTPMethod = "http.request.method"
	HTTPRoute  = "http.route"
	HTTPStatus = "http.response.status_code"
	URLScheme  = "url.scheme"
)

// What the conventions have no names for.
const (
	Purpose          = "firn.purpose"
	TurnRounds       = "firn.turn.rounds"
	TurnCalls        = "firn.turn.calls"
	TurnMessages     = "firn.turn.messages"
	TurnBy           = "firn.turn.by"
	CompactionReason = "firn.compaction.reason"
	RequestID        = "firn.request.id"
)

// wellKnown are the providers that the conventions name otherwise than we do.
var wellKnown = map[string]string{
	"mistral": "mistral_ai", "gemini": "gcp.gemini", "google": "gcp.gemini", "vertex": "gcp.vertex_ai",
	"xai": "x_ai", "bedrock": "aws.bedrock", "azure": "azure.ai.openai",
}

// provider is the name of a provider in the conventions.
func providerName(ours string) string {
	if known, ok := wellKnown[ours]; ok {
		return known
	}
	return ours
}
