package webui

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var updateTypes = flag.Bool("update-types", false, "rewrite src/api.gen.ts from docs/openapi.json")

const (
	descriptionFile = "../../../docs/openapi.json"
	typesFile       = "src/api.gen.ts"
)

// TestTypesMatchAPIDescription checks that the TypeScript types match the API
// description, so that a renamed member does not compile in the pages.
func TestTypesMatchAPIDescription(t *testing.T) {
	raw, err := os.ReadFile(descriptionFile)
	if err != nil {
		t.Fatal(err)
	}
	want, err := spellTypes(raw)
	if err != nil {
		t.Fatal(err)
	}
	if *updateTypes {
		if err := os.WriteFile(typesFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(typesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s does not match %s: run make web", typesFile, descriptionFile)
	}
}

// schema is the part of JSON Schema that the description uses.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        any                `json:"type"` // a name or several
	Enum        []string           `json:"enum"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Additional  json.RawMessage    `json:"additionalProperties"`
	Description string             `json:"description"`
}

// spellTypes converts the schemas of a description to TypeScript.
func spellTypes(description []byte) (string, error) {
	var doc struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(description, &doc); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("// Made from docs/openapi.json by `make web`. Do not edit.\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		if len(s.Properties) == 0 {
			fmt.Fprintf(&b, "\nexport type %s = %s;\n", name, s.spell())
			continue
		}
		fmt.Fprintf(&b, "\nexport interface %s {\n", name)
		for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
			optional := "?"
			if slices.Contains(s.Required, member) {
				optional = ""
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", spellName(member), optional, s.Properties[member].spell())
		}
		b.WriteString("}\n")
	}
	return b.String(), nil
}

// spell returns a schema as a TypeScript type. Anything unsupported is unknown.
func (s *schema) spell() string {
	if s.Ref != "" {
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, e := range s.Enum {
			words = append(words, fmt.Sprintf("%q", e))
		}
		return strings.Join(words, " | ")
	}
	switch t := s.Type.(type) {
	case string:
		return s.spellOne(t)
	case []any:
		var words []string
		for _, one := range t {
			words = append(words, s.spellOne(fmt.Sprint(one)))
		}
		return strings.Join(words, " | ")
	}
	return "unknown"
}

func (s *schema) spellOne(name string) string {
	switch name {
	case "integer", "number":
		return "number"
	case "string", "boolean", "null":
		return name
	case "array":
		if s.Items == nil {
			return "unknown[]"
		}
		item := s.Items.spell()
		if strings.Contains(item, " ") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		return s.spellObject()
	}
	return "unknown"
}

func (s *schema) spellObject() string {
	if len(s.Properties) > 0 {
		var members []string
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			optional := "?"
			if slices.Contains(s.Required, name) {
				optional = ""
			}
			members = append(members, spellName(name)+optional+": "+s.Properties[name].spell())
		}
		return "{ " + strings.Join(members, "; ") + " }"
	}
	var values schema
	if json.Unmarshal(s.Additional, &values) == nil && values.Type != nil || values.Ref != "" {
		return "Record<string, " + values.spell() + ">"
	}
	return "Record<string, unknown>"
}

// spellName quotes a member name that is not an identifier.
func spellName(member string) string {
	for i, r := range member {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return fmt.Sprintf("%q", member)
		}
	}
	return member
}
