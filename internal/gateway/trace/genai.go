package trace

// Attribute names of OpenTelemetry's semantic conventions for generative AI. They are not
// stable yet, and no released package of constants has them, so they are defined here.
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

// Values of [OperationName].
const (
	OperationChat  = "chat"
	OperationAgent = "invoke_agent"
	OperationTool  = "execute_tool"
)

// Attribute names for all kinds of spans, and for HTTP.
const (
	ErrorType  = "error.type"
	HTTPMethod = "http.request.method"
	HTTPRoute  = "http.route"
	HTTPStatus = "http.response.status_code"
	URLScheme  = "url.scheme"
)

// Attribute names that the conventions do not define.
const (
	Purpose          = "firn.purpose"
	TurnRounds       = "firn.turn.rounds"
	TurnCalls        = "firn.turn.calls"
	TurnMessages     = "firn.turn.messages"
	TurnBy           = "firn.turn.by"
	CompactionReason = "firn.compaction.reason"
	RequestID        = "firn.request.id"
)

// wellKnown maps firn's provider names to those of the conventions where they differ.
var wellKnown = map[string]string{
	"mistral": "mistral_ai", "gemini": "gcp.gemini", "google": "gcp.gemini", "vertex": "gcp.vertex_ai",
	"xai": "x_ai", "bedrock": "aws.bedrock", "azure": "azure.ai.openai",
}

// providerName returns the name of a provider in the conventions.
func providerName(ours string) string {
	if known, ok := wellKnown[ours]; ok {
		return known
	}
	return ours
}
