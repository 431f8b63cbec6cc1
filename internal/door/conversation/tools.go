package conversation

import (
	"encoding/json"
	"strings"

	"firn.dev/wire"
)

// maxToolName is the maximum length of a tool name in bytes, the higher limit of the two
// large providers.
const maxToolName = 128

// CheckTools rejects tools that no turn could be started with. It is called before anything
// of the request is stored.
func CheckTools(tools []wire.ToolSpec) error {
	names := make(map[string]bool, len(tools))
	for i, x := range tools {
		switch {
		case x.Name == "":
			return BadRequest("tools", "tool %d has no name", i+1)
		case len(x.Name) > maxToolName || strings.ContainsFunc(x.Name, badInToolName):
			return BadRequest("tools", "invalid tool name %s: use letters, digits, underscores, dashes and dots, at most %d", Quoted(x.Name), maxToolName)
		case names[x.Name]:
			return BadRequest("tools", "two tools are called %s", Quoted(x.Name))
		case !isSchema(x.Schema):
			return BadRequest("tools", "the parameters of tool %s are not a JSON object", Quoted(x.Name))
		}
		names[x.Name] = true
	}
	return nil
}

func badInToolName(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.')
}

// isSchema reports whether raw is an object, or missing.
func isSchema(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return len(raw) == 0 || json.Unmarshal(raw, &object) == nil
}
