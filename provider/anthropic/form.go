package anthropic

import (
	"strings"

	"firn.dev/internal/base/rawjson"
	"firn.dev/provider"
)

// form writes the parameters of the answer's form: the effort, the JSON schema and the stop
// sequences. The API rejects blank sequences; [provider.Ask] cuts the answer off at those.
func (e *encoder) form(plan plan, req provider.Request) {
	if plan.effort != "" || req.Format != nil {
		e.raw(`,"output_config":{`)
		if plan.effort != "" {
			e.raw(`"effort":`).text(plan.effort)
		}
		if req.Format != nil {
			if plan.effort != "" {
				e.raw(",")
			}
			e.schema(*req.Format)
		}
		e.raw("}")
	}
	separator := `,"stop_sequences":[`
	for _, s := range req.Stop {
		if strings.TrimSpace(s) != "" {
			e.raw(separator).text(s)
			separator = ","
		}
	}
	if separator == "," {
		e.raw("]")
	}
}

// schema writes the JSON schema of the answer. The API has no other form of JSON.
func (e *encoder) schema(f provider.Format) {
	if len(f.Schema) == 0 {
		e.fail("the model needs a JSON schema for an answer in JSON")
		return
	}
	b, err := rawjson.AppendValue(nil, f.Schema)
	if err != nil {
		e.fail("schema of the answer: %v", err)
	}
	e.raw(`"format":{"type":"json_schema","schema":`).raw(string(b)).raw("}")
}
