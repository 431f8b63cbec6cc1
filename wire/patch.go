package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Default as the model, thinking, verbose, send or auth of a [Patch] resets the session's
// choice. In JSON, null does the same.
const Default = "default"

// UnmarshalJSON reads a patch. It rejects members that do not match a name exactly, and
// null resets a choice.
func (p *Patch) UnmarshalJSON(data []byte) error {
	type plain Patch
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	for name := range raw {
		if meant, ok := patchMember(name); !ok && meant != "" {
			return fmt.Errorf("unknown member %q; did you mean %q?", name, meant)
		} else if !ok {
			return fmt.Errorf("unknown member %q", name)
		}
	}
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	for name, value := range map[string]**string{"model": &p.Model, "thinking": &p.Thinking, "verbose": &p.Verbose, "send": &p.Send, "auth": &p.Auth} {
		if string(bytes.TrimSpace(raw[name])) == "null" {
			back := Default
			*value = &back
		}
	}
	return nil
}

// patchMember reports whether a patch has a member with exactly that name, and returns the
// member that differs only in case.
func patchMember(name string) (meant string, ok bool) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Patch]()) {
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if member == name {
			return member, true
		}
		if strings.EqualFold(member, name) {
			meant = member
		}
	}
	return meant, false
}
