package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file rejects requests as the APIs do, according to their documentation. It shares no
// code with the encoders.

type object = map[string]any

// fields checks that an object has all required members and no unknown ones. Names that end
// in ? are optional.
func fields(what string, o object, names ...string) error {
	known := make(map[string]bool)
	for _, name := range names {
		name, optional := strings.CutSuffix(name, "?")
		known[name] = true
		if _, ok := o[name]; !ok && !optional {
			return fmt.Errorf("missing required parameter: %s.%s", what, name)
		}
	}
	for name := range o {
		if !known[name] {
			return fmt.Errorf("unknown parameter: %s.%s", what, name)
		}
	}
	return nil
}

// parse reads a request strictly: valid JSON and UTF-8, no duplicate members.
func parse(body []byte) (object, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not UTF-8")
	}
	if bytes.ContainsRune(body, 0) || bytes.Contains(body, []byte(`\u0000`)) {
		return nil, errors.New("the body holds NUL")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("we could not parse the JSON body: %w", err)
	}
	if d.More() {
		return nil, errors.New("there is something behind the JSON body")
	}
	return o, twice(json.NewDecoder(bytes.NewReader(body)))
}

// twice returns an error for duplicate members.
func twice(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := make(map[string]bool)
	for d.More() {
		if delim == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if key := name.(string); seen[key] {
				return fmt.Errorf("the member %s occurs twice", key)
			} else {
				seen[key] = true
			}
		}
		if err := twice(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func text(what string, v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("invalid type for %s: expected a string, got %T", what, v)
	}
	return s, nil
}

func nonEmpty(what string, v any) error {
	s, err := text(what, v)
	if err == nil && strings.TrimSpace(s) == "" {
		return fmt.Errorf("%s must not be empty", what)
	}
	return err
}

func oneOf(what string, v any, allowed ...string) error {
	s, err := text(what, v)
	if err == nil && !slices.Contains(allowed, s) {
		return fmt.Errorf("invalid value %q for %s: supported are %v", s, what, allowed)
	}
	return err
}

func list(what string, v any) ([]object, error) {
	values, ok := v.([]any)
	if !ok || len(values) == 0 {
		return nil, fmt.Errorf("%s: expected an array with something in it, got %T", what, v)
	}
	objects := make([]object, len(values))
	for i, value := range values {
		if objects[i], ok = value.(object); !ok {
			return nil, fmt.Errorf("%s[%d]: expected an object, got %T", what, i, value)
		}
	}
	return objects, nil
}

func atLeast(what string, v any, least int64) error {
	n, ok := v.(json.Number)
	if !ok {
		return fmt.Errorf("%s: expected a number, got %T", what, v)
	}
	if i, err := n.Int64(); err != nil || i < least {
		return fmt.Errorf("%s: %s is below the minimum %d", what, n, least)
	}
	return nil
}

func arguments(what string, v any) error {
	s, err := text(what, v)
	if err != nil {
		return err
	}
	var o object
	if err := json.Unmarshal([]byte(s), &o); err != nil || o == nil {
		return fmt.Errorf("%s: expected JSON of an object, got %.60q", what, s)
	}
	return nil
}

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	imageURL = regexp.MustCompile(`^data:image/(png|jpeg|gif|webp);base64,`)
)

func dataURL(what string, v any) error {
	s, err := text(what, v)
	if err != nil {
		return err
	}
	if !imageURL.MatchString(s) {
		return fmt.Errorf("%s: not the address of an image: %.40q", what, s)
	}
	_, data, _ := strings.Cut(s, ",")
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" {
		return fmt.Errorf("%s: invalid base64", what)
	}
	return nil
}

func tool(what string, o object, more ...string) error {
	if err := fields(what, o, append(more, "name", "description?", "parameters")...); err != nil {
		return err
	}
	if name, _ := o["name"].(string); !toolName.MatchString(name) {
		return fmt.Errorf("%s: name %q", what, name)
	}
	schema, ok := o["parameters"].(object)
	if !ok || schema["type"] != "object" {
		return fmt.Errorf("%s: schema must be of type object", what)
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
