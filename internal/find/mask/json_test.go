package mask

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJSON checks that strings are masked by content and by name, and that all other bytes
// are kept.
func TestJSON(t *testing.T) {
	const secret = "sk-ant-api03-" + "Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OUFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaYWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo-AAAAAA" + "AA"
	signature := strings.Repeat("Ab1+", 30) + "=="
	for in, want := range map[string]string{
		`{"a": 1.50, "text":"use ` + secret + ` now", "b":null }`:          `{"a": 1.50, "text":"use [secret] now", "b":null }`,
		`{"input":{"api_key":"hunter22hunter","n":[1,"x"]}}`:               `{"input":{"api_key":"[secret]","n":[1,"x"]}}`,
		`{"arguments":"{\"password\":\"it\\\"s me\",\"path\":\"a\\\\\"}"}`: `{"arguments":"{\"password\":\"[secret]\",\"path\":\"a\\\\\"}"}`,
		`["` + secret + `","` + secret + `"]`:                              `["[secret]","[secret]"]`,
		`{"tokens":[1,2],"key":"agent:main:main","id":"toolu_01Abc234"}`:   `{"tokens":[1,2],"key":"agent:main:main","id":"toolu_01Abc234"}`,
		`{"type":"thinking","signature":"` + signature + `"}`:              `{"type":"thinking","signature":"` + signature + `"}`,
		`{"signature":"hunter22hunter22hunter22hunter"}`:                   `{"signature":"[secret]"}`,
		`{"url":"data:image/png;base64,` + signature + `"}`:                `{"url":"data:image/png;base64,` + signature + `"}`,
		`{"text":"a\u2028 <b> é"}`:                                         `{"text":"a\u2028 <b> é"}`,
		`{"torn":"` + secret:                                               `{"torn":"[secret]`,
		`{"password":"{hunter22"}`:                                         `{"password":"[secret]"}`,
	} {
		got, places := JSON([]byte(in))
		if string(got) != want || places != strings.Count(want, Mark) {
			t.Errorf("%s becomes, in %d places, %s, want %s", in, places, got, want)
		}
	}
}

// TestTranscriptStructureIsKept masks the sample transcripts of all tools and checks that their
// structure is unchanged.
func TestTranscriptStructureIsKept(t *testing.T) {
	lines := 0
	err := filepath.WalkDir("../../../testdata/corpus", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		data, err := os.ReadFile(path)
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); json.Valid(line) {
				lines++
				stays(t, path, line)
			}
		}
		return err
	})
	if err != nil || lines < 100 {
		t.Errorf("examined %d lines: %v", lines, err)
	}
}

// stays fails if the structure of a line has changed.
func stays(t *testing.T, path string, line []byte) {
	t.Helper()
	out, _ := JSON(line)
	if twice, places := JSON(out); places > 0 {
		t.Errorf("%s: masked again %s becomes %s", path, out, twice)
	}
	var before, after any
	if json.Unmarshal(line, &before) != nil || json.Unmarshal(out, &after) != nil {
		t.Errorf("%s: %s became %s", path, line, out)
		return
	}
	sameShape(t, path, before, after)
}

func sameShape(t *testing.T, at string, before, after any) {
	t.Helper()
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		if len(a) != len(b) {
			t.Errorf("%s: had %d members, has %d", at, len(b), len(a))
		}
		for name, value := range b {
			sameShape(t, at+"."+name, value, a[name])
		}
	case []any:
		a, _ := after.([]any)
		if len(a) != len(b) {
			t.Errorf("%s: had %d elements, has %d", at, len(b), len(a))
			return
		}
		for i, value := range b {
			sameShape(t, at+"[]", value, a[i])
		}
	case string:
		if a, ok := after.(string); !ok || a != b && !strings.Contains(a, Mark) {
			t.Errorf("%s: %q became %v", at, b, after)
		} else if name := at[strings.LastIndexByte(at, '.')+1:]; a != b && (strings.HasSuffix(strings.ToLower(name), "id") || name == "type" || name == "timestamp") {
			t.Errorf("%s was masked: %q", at, b)
		}
	default:
		if before != after {
			t.Errorf("%s: %v became %v", at, before, after)
		}
	}
}

// FuzzJSON checks that masked JSON is JSON, that masking it again changes nothing, and that
// masking it as text finds nothing more.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"password":"hunter22","a":["{\"token\":\"abc123abc123\"}"]}`))
	f.Add([]byte(`{"a":"PASSWORD=abc\\\" d\n","b":"\ud800"}`))
	f.Add([]byte(`0 pwd :"0000 :00000000`)) // after the first replacement the rest looks like a secret
	f.Fuzz(func(t *testing.T, data []byte) {
		out, places := JSON(data)
		if json.Valid(data) && !json.Valid(out) {
			t.Errorf("%q became %q", data, out)
		}
		if places == 0 && !bytes.Equal(data, out) {
			t.Errorf("nothing was masked, and %q became %q", data, out)
		}
		if twice, places := JSON(out); places > 0 {
			t.Errorf("%q became %q, and in %d more places %q", data, out, places, twice)
		}
		if json.Valid(data) {
			asText(t, data)
		}
	})
}
