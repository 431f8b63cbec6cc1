package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// tooLong returns OpenAI's error for a string that is too long.
func tooLong(param string, limit int, value string) *refusal {
	return refuseParam(param, "string_above_max_length", "Invalid '%s': string too long. Expected a string with maximum length %d, but instead got a string with length %d instead.", param, limit, len(value))
}

// openAICall checks the ID, the name and the arguments of a call.
func openAICall(at, idParam, id string, limit int, name, arguments string) *refusal {
	switch {
	case id == "":
		return refuseParam(at+idParam, "empty_string", "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", at+idParam)
	case len(id) > limit:
		return tooLong(at+idParam, limit, id)
	case len(name) > 64:
		return tooLong(at+".name", 64, name)
	case !legalTool.MatchString(name):
		return refuseParam(at+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	case !isObject([]byte(arguments)):
		return refuseParam(at+".arguments", "invalid_value", "Invalid '%s.arguments': expected a JSON object as a string.", at)
	}
	return nil
}

// strictChat checks a request as OpenAI's Chat Completions API does.
func strictChat(request map[string]json.RawMessage) *refusal {
	var messages []struct {
		wireMessage
		ToolCallID string `json:"tool_call_id"`
	}
	if err := json.Unmarshal(request["messages"], &messages); err != nil || len(messages) == 0 {
		return refuseParam("messages", "invalid_type", "Invalid type for 'messages': expected an array of objects.")
	}
	var open []string
	begun := false
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		if len(open) > 0 && m.Role != "tool" {
			break
		}
		switch m.Role {
		case "system", "developer":
		case "user":
			begun = true
		case "assistant":
			if !begun {
				return refuse("After the optional system message, conversation roles must alternate user/assistant/user/assistant/... and the first message must be of the user")
			}
			for k, call := range m.ToolCalls {
				if err := openAICall(fmt.Sprintf("%s.tool_calls[%d]", at, k), ".id", call.ID, maxChatCallID, call.Function.Name, call.Function.Arguments); err != nil {
					return err
				}
				open = append(open, call.ID)
			}
		case "tool":
			n := slices.Index(open, m.ToolCallID)
			if n < 0 {
				return refuseParam(at+".role", "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			}
			open = slices.Delete(open, n, n+1)
		default:
			return refuseParam(at+".role", "invalid_value", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
		}
		if err := chatContent(at, m.Role, m.Content, len(m.ToolCalls) > 0); err != nil {
			return err
		}
	}
	if len(open) > 0 {
		return refuseParam("messages", "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
	return strictTools(request["tools"], "Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.")
}

// chatContent checks the content of a message.
func chatContent(at, role string, content json.RawMessage, calls bool) *refusal {
	var text string
	if len(content) == 0 || string(content) == "null" {
		if role == "assistant" && calls {
			return nil
		}
		return refuseParam(at+".content", "invalid_type", "Invalid value for 'content': expected a string, got null.")
	}
	if json.Unmarshal(content, &text) == nil {
		return nil
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(content, &parts); err != nil || len(parts) == 0 {
		return refuseParam(at+".content", "empty_array", "Invalid '%s.content': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
	for i, part := range parts {
		switch {
		case part.Type == "text" && part.Text != nil:
		case part.Type == "image_url" && role == "user":
			if !isPictureURL(part.ImageURL.URL) {
				return refuseParam(fmt.Sprintf("%s.content[%d].image_url", at, i), "invalid_base64", "Invalid base64 image_url.")
			}
		default:
			return refuseParam(fmt.Sprintf("%s.content[%d].type", at, i), "invalid_value", "Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.", part.Type)
		}
	}
	return nil
}

// strictResponses checks a request as OpenAI's Responses API does.
func strictResponses(request map[string]json.RawMessage) *refusal {
	var items []wireItem
	if err := json.Unmarshal(request["input"], &items); err != nil || len(items) == 0 {
		return refuseParam("input", "invalid_type", "Invalid type for 'input': expected an array of objects.")
	}
	calls, results := make(map[string]bool), make(map[string]bool)
	var order []string
	for i, item := range items {
		at := fmt.Sprintf("input[%d]", i)
		switch item.Type {
		case "message", "":
			if err := responseContent(at, item); err != nil {
				return err
			}
		case "function_call", "custom_tool_call":
			arguments := item.Arguments
			if item.Type == "custom_tool_call" {
				arguments = "{}" // its input is plain text
			}
			if err := openAICall(at, ".call_id", item.CallID, maxCallID, item.Name, arguments); err != nil {
				return err
			}
			if calls[item.CallID] {
				return refuseParam(at+".call_id", "invalid_value", "Duplicate item found with call_id %s.", item.CallID)
			}
			calls[item.CallID] = true
			order = append(order, item.CallID)
		case "function_call_output", "custom_tool_call_output":
			if !calls[item.CallID] {
				return refuseParam("input", "", "No tool call found for function call output with call_id %s.", item.CallID)
			}
			results[item.CallID] = true
			if err := responseOutput(at, item); err != nil {
				return err
			}
		case "reasoning":
			if item.Encrypted == "" {
				return refuseParam(at, "", "Item '%s' of type 'reasoning' was provided without its encrypted content.", at)
			}
			if i+1 == len(items) {
				return refuseParam("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", at)
			}
		case "web_search_call", "local_shell_call", "local_shell_call_output", "tool_search_call", "tool_search_output", "additional_tools":
		default:
			return refuseParam(at+".type", "invalid_value", "Invalid value: '%s'.", item.Type)
		}
	}
	for _, id := range order {
		if !results[id] {
			return refuseParam("input", "", "No tool output found for function call %s.", id)
		}
	}
	return nil
}

// responseContent checks the content of a message of the Responses API.
func responseContent(at string, item wireItem) *refusal {
	var text string
	if json.Unmarshal(item.Content, &text) == nil {
		return nil
	}
	want := "input_text"
	if item.Role == "assistant" {
		want = "output_text"
	}
	return responseParts(at+".content", item.Content, want)
}

// responseOutput checks the result of a call.
func responseOutput(at string, item wireItem) *refusal {
	var text string
	if json.Unmarshal(item.Output, &text) == nil {
		return nil
	}
	return responseParts(at+".output", item.Output, "input_text")
}

func responseParts(at string, raw json.RawMessage, text string) *refusal {
	var parts []struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		ImageURL string  `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return refuseParam(at, "invalid_type", "Invalid type for '%s': expected an array of objects or a string.", at)
	}
	for i, part := range parts {
		switch {
		case part.Type == text && part.Text != nil:
		case part.Type == "input_image" && text == "input_text":
			if !isPictureURL(part.ImageURL) {
				return refuseParam(fmt.Sprintf("%s[%d].image_url", at, i), "invalid_value", "Invalid '%s[%d].image_url'. Expected a valid URL, but got a value with an invalid format.", at, i)
			}
		default:
			return refuseParam(fmt.Sprintf("%s[%d].type", at, i), "invalid_value", "Invalid value: '%s'. Supported values are: '%s' and others.", part.Type, text)
		}
	}
	return nil
}
