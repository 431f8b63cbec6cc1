package openai

import (
	"fmt"
)

// checkChat returns the reason why the Chat Completions API would reject a request, or nil.
func checkChat(body []byte) error { return chatServer{}.check(body) }

// chatServer is a server of the Chat Completions API. The zero value is OpenAI's.
type chatServer struct {
	// mistral rejects some members that OpenAI accepts, and requires content.
	mistral bool
	// google signs calls.
	google bool
	// router expects the effort in an object.
	router bool
}

func (s chatServer) check(body []byte) error {
	r, err := parse(body)
	if err != nil {
		return err
	}
	names := []string{"model", "messages", "stream", "tools?", "max_tokens?"}
	switch {
	case s.router:
		names = append(names, "reasoning?", "stream_options?")
	case !s.mistral:
		names = append(names, "reasoning_effort?", "stream_options?", "max_completion_tokens?", "prompt_cache_key?")
	}
	if err := first(fields("request", r, names...), nonEmpty("model", r["model"]), s.settings(r)); err != nil {
		return err
	}
	messages, err := list("messages", r["messages"])
	if err != nil {
		return err
	}
	c := chatCheck{server: s, asked: make(map[string]bool)}
	for i, m := range messages {
		if err := c.message(fmt.Sprintf("messages[%d]", i), m, i); err != nil {
			return err
		}
	}
	return c.answered("the end")
}

func (s chatServer) settings(r object) error {
	if r["stream"] != true {
		return fmt.Errorf("the answer is not asked for as a stream")
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if v, ok := r[name]; ok {
			if err := atLeast(name, v, 1); err != nil {
				return err
			}
		}
	}
	if v, ok := r["stream_options"]; ok {
		if o, ok := v.(object); !ok || len(o) != 1 || o["include_usage"] != true {
			return fmt.Errorf("stream_options %v", v)
		}
	}
	if v, ok := r["reasoning_effort"]; ok {
		if err := oneOf("reasoning_effort", v, "minimal", "low", "medium", "high", "xhigh"); err != nil {
			return err
		}
	}
	if v, ok := r["prompt_cache_key"]; ok {
		if key, _ := v.(string); key == "" || len(key) > 64 {
			return fmt.Errorf("prompt_cache_key %q: string too long", key)
		}
	}
	if v, ok := r["tools"]; ok {
		return chatTools(v)
	}
	return nil
}

func chatTools(v any) error {
	tools, err := list("tools", v)
	if err != nil {
		return err
	}
	for _, t := range tools {
		function, _ := t["function"].(object)
		if err := first(fields("tool", t, "type", "function"), oneOf("tool type", t["type"], "function"), tool("function", function)); err != nil {
			return err
		}
	}
	return nil
}

// chatCheck validates messages.
type chatCheck struct {
	server chatServer
	// asked is the set of calls without a result.
	asked map[string]bool
	last  string
}

// answered: "An assistant message with 'tool_calls' must be followed by tool
// messages responding to each 'tool_call_id'".
func (c *chatCheck) answered(before string) error {
	for id := range c.asked {
		return fmt.Errorf("call %s has no result before %s", id, before)
	}
	return nil
}

func (c *chatCheck) message(what string, m object, i int) error {
	role, _ := m["role"].(string)
	defer func() { c.last = role }()
	if role != "tool" {
		if err := c.answered(what); err != nil {
			return err
		}
	}
	switch role {
	case "system", "developer":
		if i > 0 {
			return fmt.Errorf("%s: a system prompt in the middle", what)
		}
		return first(fields(what, m, "role", "content"), nonEmpty(what, m["content"]))
	case "user":
		if c.server.mistral && c.last == "tool" {
			return fmt.Errorf("%s: unexpected role user after role tool", what)
		}
		return first(fields(what, m, "role", "content"), chatContent(what, m["content"]))
	case "assistant":
		return c.assistant(what, m)
	case "tool":
		return c.tool(what, m)
	}
	return fmt.Errorf("%s: role %q", what, role)
}

func chatContent(what string, v any) error {
	if _, ok := v.(string); ok {
		return nonEmpty(what, v)
	}
	parts, err := list(what, v)
	if err != nil {
		return err
	}
	for _, p := range parts {
		switch p["type"] {
		case "text":
			err = first(fields(what, p, "type", "text"), nonEmpty(what, p["text"]))
		case "image_url":
			url, _ := p["image_url"].(object)
			err = first(fields(what, p, "type", "image_url"), fields(what, url, "url"), dataURL(what, url["url"]))
		default:
			err = fmt.Errorf("%s: part of type %v", what, p["type"])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *chatCheck) assistant(what string, m object) error {
	if err := fields(what, m, "role", "content", "tool_calls?"); err != nil {
		return err
	}
	v, calls := m["tool_calls"]
	empty := m["content"] == nil || c.server.mistral && m["content"] == ""
	switch {
	case c.server.mistral && m["content"] == nil:
		return fmt.Errorf("%s: content must not be null", what)
	case !calls && empty:
		return fmt.Errorf("%s: must have either content or tool_calls", what)
	case !empty:
		if err := nonEmpty(what, m["content"]); err != nil {
			return err
		}
	}
	if !calls {
		return nil
	}
	list, err := list(what, v)
	if err != nil {
		return err
	}
	for _, call := range list {
		if err := c.call(what, call); err != nil {
			return err
		}
	}
	return nil
}

func (c *chatCheck) call(what string, call object) error {
	names := []string{"id", "type", "function"}
	if c.server.google {
		names = append(names, "extra_content?")
	}
	f, _ := call["function"].(object)
	if err := first(fields(what, call, names...), oneOf(what, call["type"], "function"), fields(what, f, "name", "arguments"), arguments(what, f["arguments"])); err != nil {
		return err
	}
	if name, _ := f["name"].(string); !toolName.MatchString(name) {
		return fmt.Errorf("%s: call of %q", what, name)
	}
	id, _ := call["id"].(string)
	if id == "" || len(id) > 40 || c.server.mistral && len(id) != 9 {
		return fmt.Errorf("%s: call id %q", what, id)
	}
	if c.asked[id] {
		return fmt.Errorf("%s: call id %q twice", what, id)
	}
	c.asked[id] = true
	return nil
}

// tool: "messages with role 'tool' must be a response to a preceeding message
// with 'tool_calls'".
func (c *chatCheck) tool(what string, m object) error {
	names := []string{"role", "content", "tool_call_id"}
	if c.server.mistral || c.server.google {
		names = append(names, "name")
	}
	if err := first(fields(what, m, names...), nonEmpty(what, m["content"])); err != nil {
		return err
	}
	id, _ := m["tool_call_id"].(string)
	if !c.asked[id] {
		return fmt.Errorf("%s: there is no call for the result of %q", what, id)
	}
	delete(c.asked, id)
	return nil
}
