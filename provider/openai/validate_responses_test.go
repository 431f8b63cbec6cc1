package openai

import (
	"fmt"
	"regexp"
)

// checkResponses returns the reason why the Responses API would reject a request, or nil.
func checkResponses(body []byte) error {
	r, err := parse(body)
	if err != nil {
		return err
	}
	if err := first(
		fields("request", r, "model", "input", "stream", "store", "include?", "instructions?", "tools?", "max_output_tokens?", "reasoning?", "prompt_cache_key?"),
		nonEmpty("model", r["model"]), responsesSettings(r),
	); err != nil {
		return err
	}
	items, err := list("input", r["input"])
	if err != nil {
		return err
	}
	c := itemsCheck{asked: make(map[string]bool), ids: make(map[string]bool)}
	for i, item := range items {
		if err := c.item(fmt.Sprintf("input[%d]", i), item); err != nil {
			return err
		}
	}
	if c.thinking {
		return fmt.Errorf("reasoning was provided without its required following item")
	}
	for id := range c.asked {
		return fmt.Errorf("no tool output found for function call %s", id)
	}
	return nil
}

func responsesSettings(r object) error {
	if r["stream"] != true || r["store"] != false {
		return fmt.Errorf("stream %v, store %v", r["stream"], r["store"])
	}
	if v, ok := r["include"]; ok {
		if l, ok := v.([]any); !ok || len(l) != 1 || l[0] != "reasoning.encrypted_content" {
			return fmt.Errorf("include %v", v)
		}
	}
	if v, ok := r["instructions"]; ok {
		if err := nonEmpty("instructions", v); err != nil {
			return err
		}
	}
	if v, ok := r["max_output_tokens"]; ok {
		if err := atLeast("max_output_tokens", v, 16); err != nil {
			return err
		}
	}
	if v, ok := r["reasoning"]; ok {
		o, _ := v.(object)
		if err := first(fields("reasoning", o, "effort", "summary"), oneOf("effort", o["effort"], "minimal", "low", "medium", "high", "xhigh"), oneOf("summary", o["summary"], "auto")); err != nil {
			return err
		}
	}
	if v, ok := r["prompt_cache_key"]; ok {
		if key, _ := v.(string); key == "" || len(key) > 64 {
			return fmt.Errorf("prompt_cache_key %q: string too long", key)
		}
	}
	if v, ok := r["tools"]; ok {
		return responsesTools(v)
	}
	return nil
}

func responsesTools(v any) error {
	tools, err := list("tools", v)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if err := first(oneOf("tool type", t["type"], "function"), tool("tool", t, "type", "strict")); err != nil {
			return err
		}
		if t["strict"] != false {
			return fmt.Errorf("tool: strict %v: our schemas are not", t["strict"])
		}
	}
	return nil
}

// itemsCheck validates the items of the input.
type itemsCheck struct {
	asked, ids map[string]bool
	// thinking is set if the last item was reasoning.
	thinking bool
}

var itemID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// id: "Invalid 'input[2].id': 'x'. Expected an ID that begins with 'msg'."
func (c *itemsCheck) id(what string, o object, prefix string) error {
	v, ok := o["id"]
	if !ok {
		return nil
	}
	id, _ := v.(string)
	if !itemID.MatchString(id) || len(id) < len(prefix) || id[:len(prefix)] != prefix {
		return fmt.Errorf("%s: id %q, want one that begins with %s", what, id, prefix)
	}
	return nil
}

func (c *itemsCheck) item(what string, o object) error {
	kind, _ := o["type"].(string)
	if role := o["role"]; c.thinking && (kind == "function_call_output" || role == "user") {
		return fmt.Errorf("%s: reasoning was provided without its required following item", what)
	}
	c.thinking = kind == "reasoning"
	switch kind {
	case "message":
		return c.message(what, o)
	case "reasoning":
		return first(fields(what, o, "type", "id", "summary", "encrypted_content?", "content?", "status?"), c.id(what, o, "rs"), c.sealed(what, o))
	case "function_call":
		return c.call(what, o)
	case "function_call_output":
		return c.output(what, o)
	}
	return fmt.Errorf("%s: item of type %q", what, kind)
}

// sealed: "Item with id 'rs_1' not found. Items are not persisted when store
// is set to false."
func (c *itemsCheck) sealed(what string, o object) error {
	if s, _ := o["encrypted_content"].(string); s != "" {
		return nil
	}
	if l, _ := o["content"].([]any); len(l) > 0 {
		return nil
	}
	return fmt.Errorf("%s: reasoning that holds nothing", what)
}

func (c *itemsCheck) message(what string, o object) error {
	switch o["role"] {
	case "user":
		return first(fields(what, o, "type", "role", "content"), inputContent(what, o["content"]))
	case "assistant":
		if _, plain := o["content"].(string); plain {
			return first(fields(what, o, "type", "role", "content"), nonEmpty(what, o["content"]))
		}
		if err := first(fields(what, o, "type", "role", "content", "id", "status", "phase?"), c.id(what, o, "msg"), oneOf(what, o["status"], "completed")); err != nil {
			return err
		}
		if phase, ok := o["phase"]; ok {
			if err := oneOf(what, phase, "commentary", "final_answer"); err != nil {
				return err
			}
		}
		parts, err := list(what, o["content"])
		if err != nil {
			return err
		}
		for _, p := range parts {
			if err := first(fields(what, p, "type", "text", "annotations"), oneOf(what, p["type"], "output_text"), nonEmpty(what, p["text"])); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s: role %v", what, o["role"])
}

func inputContent(what string, v any) error {
	parts, err := list(what, v)
	if err != nil {
		return err
	}
	for _, p := range parts {
		switch p["type"] {
		case "input_text":
			err = first(fields(what, p, "type", "text"), nonEmpty(what, p["text"]))
		case "input_image":
			err = first(fields(what, p, "type", "detail", "image_url"), oneOf(what, p["detail"], "auto"), dataURL(what, p["image_url"]))
		default:
			err = fmt.Errorf("%s: part of type %v", what, p["type"])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *itemsCheck) call(what string, o object) error {
	if err := first(fields(what, o, "type", "id?", "call_id", "name", "arguments"), c.id(what, o, "fc"), arguments(what, o["arguments"])); err != nil {
		return err
	}
	if name, _ := o["name"].(string); !toolName.MatchString(name) {
		return fmt.Errorf("%s: call of %q", what, name)
	}
	id, _ := o["call_id"].(string)
	if id == "" || len(id) > 64 || c.asked[id] {
		return fmt.Errorf("%s: call_id %q", what, id)
	}
	c.asked[id] = true
	return nil
}

func (c *itemsCheck) output(what string, o object) error {
	if err := fields(what, o, "type", "call_id", "output"); err != nil {
		return err
	}
	id, _ := o["call_id"].(string)
	if !c.asked[id] {
		return fmt.Errorf("%s: no tool call found for function call output with call_id %s", what, id)
	}
	delete(c.asked, id)
	if _, ok := o["output"].(string); ok {
		return nonEmpty(what, o["output"])
	}
	return inputContent(what, o["output"])
}
