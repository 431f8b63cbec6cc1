package sdk

// The recordings that firn and the SDKs read differently. Each line was reviewed: either
// firn omits unusable parts on purpose, or the server is not the one that the SDK was made
// for, and only firn tolerates its deviations.

const (
	cutCall  = "a call that ended in the middle cannot be run"
	noNumber = "the server numbers no calls, or all of them the same; the SDK takes them for one"
	noID     = "the server gives a call no id, so we do"
	counting = "the server counts as it goes; the SDK adds it all up"
	nothing  = "a filter let nothing through; an answer with nothing in it is an error to us"
)

func anthropicNotes() map[string][]note {
	return map[string][]note{
		"length": {{
			`call toolu_01L write {"invalid":"{\"path\":\"a\",\"text\":\"Once upo"}`, `call toolu_01L write {}`,
			"the SDK turns truncated arguments into an empty object; firn keeps them, so that the model gets an error",
		}},
		"refusal": {
			{"error refusal: This request was declined by a safety check.", "stop stop", nothing},
			{"", "usage input 25 output 4 read 0 write 0", nothing},
		},
		"refused-midway": {
			{"", "call toolu_01X bash {}", cutCall},
			{"stop stop", "stop toolUse", cutCall},
		},
	}
}

func chatNotes() map[string][]note {
	return map[string][]note{
		"azure_filter": {
			{"error content_filter: a content filter blocked the whole answer", "stop stop", nothing},
			{"", "usage input 9 output 0 read 0 write 0", nothing},
		},
		"bare_names": {
			{`call call_1 ls {"p":1}`, `call  lslslslscat {"p":1}{"p":2}{}`, noNumber},
			{`call call_2 ls {"p":2}`, "", noNumber},
			{`call call_3 ls {}`, "", noNumber},
			{`call call_4 cat {}`, "", noNumber},
		},
		"crlf": {{"text \"ab\\u2028\ufffd\"", `text "ab\u2028\x00"`, "what we read must fit into a log, and go to other models"}},
		"gemini_tools": {
			{`call function-call-1 search_web {"query":"weather"} EjQKMgEMOdbHJChLX75Q`, `call function-call-2 search_websearch_web {"query":"weather"}{"query":"tides"}`, noNumber},
			{`call function-call-2 search_web {"query":"tides"}`, "", noNumber},
			{"usage input 120 output 181 read 0 write 0", "usage input 480 output 152 read 0 write 0", counting + "; what was thought is only in the total"},
		},
		"groq":            {{"usage input 38 output 4 read 0 write 0", "", "Groq tells the usage in a place of its own"}},
		"legacy_function": {{`call call_1 ls {"a":1}`, "", "the SDK does not gather calls of the old kind"}, {"stop toolUse", "stop stop", "and the model is not informed of it"}},
		"mistral": {
			{`thinking "It is a tool." thinking`, "", "Mistral sends content in pieces"},
			{`text "I look."`, `text "[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"It is a \"}]}][{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"tool.\"}]}][{\"type\":\"text\",\"text\":\"I look.\"}]"`, "the SDK takes their JSON for text"},
		},
		"name_repeated": {{`call c1 ls {"p":{}}`, `call c1 lslsls {"p":{}}`, "the server tells the name again and again; the SDK adds it up"}},
		"nameless": {
			{"error the answer calls a tool without a name", "call a  {}", "such a call cannot be run, and no provider takes it back"},
			{"", "stop toolUse", "as above"},
		},
		"object_arguments": {
			{`call call_1 ls {"deep":[1,{"x":null}],"path":"a b"}`, `call  ls {"deep":[1,{"x":null}],"path":"a b"}`, noID},
			{`call call_2 cat {}`, `call  cat`, noID + "; no arguments are an empty object"},
		},
		"odd_arguments": {
			{`call c1 ls {"a":1}`, `call c1 ls "{\"a\":1}"`, "arguments that are JSON in JSON can only mean one thing"},
			{`call c2 ls {"invalid":"ls -la"}`, `call c2 ls ls -la`, "invalid JSON is stored in a form that a log can contain"},
			{`call call_3 ls {}`, `call c2 ls null`, "the server gives two calls the same id"},
		},
		"ollama_old_tools": {
			{`call call_1a ls {}`, `call call_1b lsls {}{"path":"b"}`, noNumber},
			{`call call_1b ls {"path":"b"}`, "", noNumber},
		},
		"ollama_tools": {
			{`call call_ab12 file_write {"content":"hi","path":"hello.py"}`, `call call_cd34 file_writefile_write {"content":"hi","path":"hello.py"}{"content":"ho","path":"world.py"}`, noNumber},
			{`call call_cd34 file_write {"content":"ho","path":"world.py"}`, "", noNumber},
		},
		"openai_length_in_call": {{"", `call call_9 write {"path":"a","text":"once up`, cutCall}},
		"openrouter": {
			{"stop stop", "stop unknown:", "a chunk without a reason comes behind the one with it; the SDK forgets it"},
			{"usage input 300 output 30 read 800 write 100", "usage input 400 output 30 read 800 write 0", "the SDK does not gather what was written to a cache"},
		},
		"plain_error": {{`error model_not_found: model "x" not found`, "error there are no choices", "an error with a good status; the SDK makes an empty answer of it"}},
		"resource": {
			{"error the server stopped with an error: finish_reason insufficient_system_resource", `text "So"`, "DeepSeek's way to say that it gave up"},
			{"", "stop unknown: insufficient_system_resource", "as above"},
		},
		"vllm_error": {{"error InternalServerError: EngineCore encountered an issue.", "error the SDK cannot add a chunk", "the error is not where OpenAI has it"}},
		"vllm_no_ids": {
			{`call call_1 add {"a":1}`, `call  add {"a":1}`, noID},
			{`call call_2 add {"a":2}`, `call  add {"a":2}`, noID},
			{"usage input 30 output 18 read 0 write 0", "usage input 210 output 71 read 0 write 0", counting},
		},
	}
}

func responsesNotes() map[string][]note {
	return map[string][]note{
		"filter": {
			{"error content_filter: a content filter blocked the whole answer", "stop stop", nothing},
			{"", "usage input 50 output 0 read 0 write 0", nothing},
		},
		"incomplete":     {{"", `call call_d write {"te fc_68d1`, cutCall}},
		"open_reasoning": {{`call call_1 ls {"p":1} fc_x`, `call  ls {"p":1} fc_x`, noID}},
	}
}
