package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// spell writes a value as it would stand in the file.
func spell(s *spec, v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch s.kind {
	case boolKind:
		return strconv.FormatBool(v.Bool())
	case intKind:
		return strconv.FormatInt(v.Int(), 10)
	case floatKind:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case durationKind:
		return quoteText(formatDuration(time.Duration(v.Int())))
	case bytesKind:
		return spellBytes(Bytes(v.Int()))
	case textKind:
		return quoteText(v.String())
	case listKind:
		return spellList(s, v)
	}
	return spellTable(s, v)
}

// spellBytes writes a size: in quotes if it has a unit.
func spellBytes(b Bytes) string {
	text := b.String()
	if strings.Trim(text, "0123456789") == "" {
		return text
	}
	return quoteText(text)
}

// spellList writes a list on one line.
func spellList(s *spec, v reflect.Value) string {
	items := make([]string, v.Len())
	for i := range items {
		items[i] = spell(s.elem, v.Index(i))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// spellTable writes a table on one line, in braces. What is not set is left
// out.
func spellTable(s *spec, v reflect.Value) string {
	var pairs []string
	add := func(key string, m *spec, value reflect.Value) {
		if text := spell(m, value); text != "" {
			pairs = append(pairs, quoteKey(key)+" = "+text)
		}
	}
	if s.kind == mapKind {
		names := slices.Sorted(maps.Keys(stringKeys(v)))
		for _, name := range names {
			add(name, s.elem, v.MapIndex(reflect.ValueOf(name)))
		}
	} else {
		for _, m := range s.members {
			add(m.key, m, v.Field(m.index))
		}
	}
	if len(pairs) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}

// stringKeys are the names in a map.
func stringKeys(v reflect.Value) map[string]bool {
	names := make(map[string]bool, v.Len())
	for it := v.MapRange(); it.Next(); {
		names[it.Key().String()] = true
	}
	return names
}
