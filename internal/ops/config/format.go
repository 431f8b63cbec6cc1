package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// formatValue formats a value in TOML syntax.
func formatValue(s *spec, v reflect.Value) string {
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
		return formatBytes(Bytes(v.Int()))
	case textKind:
		return quoteText(v.String())
	case listKind:
		return formatList(s, v)
	}
	return formatTable(s, v)
}

// formatBytes formats a size, quoted if it has a unit.
func formatBytes(b Bytes) string {
	text := b.String()
	if strings.Trim(text, "0123456789") == "" {
		return text
	}
	return quoteText(text)
}

// formatList formats a list on one line.
func formatList(s *spec, v reflect.Value) string {
	items := make([]string, v.Len())
	for i := range items {
		items[i] = formatValue(s.elem, v.Index(i))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// formatTable formats a table on one line, in braces. Unset members are omitted.
func formatTable(s *spec, v reflect.Value) string {
	var pairs []string
	add := func(key string, m *spec, value reflect.Value) {
		if text := formatValue(m, value); text != "" {
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

// stringKeys returns the keys of a map.
func stringKeys(v reflect.Value) map[string]bool {
	names := make(map[string]bool, v.Len())
	for it := v.MapRange(); it.Next(); {
		names[it.Key().String()] = true
	}
	return names
}
