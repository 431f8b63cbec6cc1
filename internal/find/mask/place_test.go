package mask

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlaces checks that secrets recognized only by the name of their member, or by the
// text before them, are masked as in text.
func TestPlaces(t *testing.T) {
	hex := strings.Repeat("0a1b2c3d4e", 4)
	for in, want := range map[string]string{
		`{"headers":{"Authorization":"Basic dXNlcjpodW50ZXIy"},"pin_password":12345678}`:       `{"headers":{"Authorization":"Basic [secret]"},"pin_password":"[secret]"}`,
		`{"Authorization":"token ` + hex + `"}`:                                                `{"Authorization":"token [secret]"}`,
		`{"Authorization":["Basic dXNlcjpodW50ZXIy"]}`:                                         `{"Authorization":["Basic [secret]"]}`,
		`{"datadog_access":"` + hex + `"}`:                                                     `{"datadog_access":"[secret]"}`,
		`["datadog","` + hex + `"]`:                                                            `["datadog","[secret]"]`,
		`{"heroku_id":"0198c5a2-1b2c-4d3e-8f90-a1b2c3d4e5f6"}`:                                 `{"heroku_id":"[secret]"}`,
		`{"a":"{\"heroku_id\":\"0198c5a2-1b2c-4d3e-8f90-a1b2c3d4e5f6\"}"}`:                     `{"a":"{\"heroku_id\":\"[secret]\"}"}`,
		`{"id":"0198c5a2-1b2c-4d3e-8f90-a1b2c3d4e5f6"}`:                                        `{"id":"0198c5a2-1b2c-4d3e-8f90-a1b2c3d4e5f6"}`,
		`{"Cookie":"a=b; c=d","cookies":"yes"}`:                                                `{"Cookie":"[secret]","cookies":"yes"}`,
		`{"password":1234,"showPassword":true,"pwd":null,"pass":12}`:                           `{"password":"[secret]","showPassword":true,"pwd":null,"pass":12}`,
		`{"max_tokens":12345678,"timestamp":1794710460000,"key":12345}`:                        `{"max_tokens":12345678,"timestamp":1794710460000,"key":12345}`,
		`{"password":"[12345678]"}`:                                                            `{"password":"[secret]"}`,
		`{"client_secret":"{\"x\":\"hunter22hunter\"}"}`:                                       `{"client_secret":"[secret]"}`,
		`{"a":"[12345678]","secret":"[]"}`:                                                     `{"a":"[12345678]","secret":"[]"}`,
		`{"a":["-----BEGIN PRIVATE KEY-----","MIIEaB3","=x","-----END PRIVATE KEY-----","b"]}`: `{"a":["[secret]","[secret]","[secret]","[secret]","b"]}`,
		`{"a":"-----BEGIN PRIVATE KEY-----","id":"b","c":"-----END PRIVATE KEY-----"}`:         `{"a":"[secret]","id":"b","c":"[secret]"}`,
		`{"cookie":["a=` + strings.Repeat("b", 3*headBytes) + `"]}`:                            `{"cookie":["[secret]"]}`,
	} {
		got, places := JSON([]byte(in))
		if string(got) != want || places != strings.Count(want, Mark) {
			t.Errorf("%.200s becomes, in %d places, %.200s, want %s", in, places, got, want)
		}
	}
}

// TestBlobs checks that data signed or encrypted by providers is kept, but not a key in its
// place.
func TestBlobs(t *testing.T) {
	long := strings.Repeat("Ab1_", 20)
	for in, stays := range map[string]bool{
		`{"textSignature":"msg_68b1` + strings.Repeat("0a1b2c3d4e", 4) + `68b1aa"}`: true,
		`{"thoughtSignature":"` + body(40) + `"}`:                                   true,
		`{"encrypted_content":"gAAAAAB` + body(600) + `"}`:                          true,
		`{"signature":"` + long + `"}`:                                              true,
		`{"signature":"` + long + `sk-ant-api03-` + body(40) + `"}`:                 true,
		`{"signature":"` + long[:40] + `"}`:                                         false,
		`{"signature":"sk-ant-api03-` + body(90) + `"}`:                             false,
		`{"textSignature":"sk-ant-api03-` + body(90) + `"}`:                         false,
		`{"url":"data:;base64,ghp_` + body(36) + `"}`:                               false,
		`{"url":"data:;base64,` + body(36) + `"}`:                                   true,
		`{"password":"data:;base64,` + body(36) + `"}`:                              false,
		`{"data":"ghp_` + body(300) + `"}`:                                          false,
	} {
		if got, _ := JSON([]byte(in)); (string(got) == in) != stays {
			t.Errorf("%s becomes %s", in, got)
		}
	}
}

// TestJSONMasksWhatTextMasks uses the secrets of all rules in members: alone, with the name
// that identifies them, and after it in an array.
func TestJSONMasksWhatTextMasks(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(3, 3))}
	named := 0
	for i := range leaks() {
		l := leaks()[i]
		if needs[l.ID] != "" {
			l.Keywords = []string{""}
		}
		for range 2 {
			text, secret := w.example(t, &l)
			name, _, _ := strings.Cut(needs[l.ID]+text, secret)
			name = strings.TrimSpace(strings.Map(plainName, name))
			for _, value := range []any{
				map[string]any{"content": text}, map[string]any{name: secret}, []string{name, secret}, map[string]any{"a": name, "b": secret}, map[string]any{name: []string{secret}},
			} {
				line, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				named += asText(t, line)
				inner, _ := json.Marshal(map[string]string{"arguments": string(line)})
				asText(t, inner)
			}
		}
	}
	if named < 1000 {
		t.Errorf("text masks only %d of them", named)
	}
	for _, line := range []string{
		`{"password":"hunter22","token":"it \"is\" me","api_key":"abc","n":{"auth":"` + body(30) + `"}}`, `{"text":"password='hun","b":"x'"}`, `{"url":"https://ann:pw1@a.example"}`,
		`["password=","hunter22"]`, `{"cmd":"curl -u ann:hunter2 x","Set-Cookie":"id=a3fWa; Path=/"}`,
	} {
		asText(t, []byte(line))
	}
}

// plainName drops characters that are not part of names.
func plainName(r rune) rune {
	if r < 128 && isNameByte(byte(r)) {
		return r
	}
	return ' '
}

// asText fails if part of a value is masked in the line as text, but not as JSON. It
// returns the number of parts.
func asText(t *testing.T, line []byte) (parts int) {
	t.Helper()
	out, _ := JSON(line)
	before, err := decoded(line)
	after, changed := decoded(out)
	if err != nil || changed != nil {
		t.Errorf("%s became %s", line, out)
		return 0
	}
	var secrets []string
	for _, s := range find(string(line)) {
		if part := string(line[s.from:s.to]); len(part) > 5 && !strings.ContainsAny(part, `"\`) {
			secrets = append(secrets, part)
		}
	}
	eachPair("", before, after, func(name, b, a string) {
		for _, secret := range secrets {
			if !strings.Contains(b, secret) || isBlob(name, b) {
				continue
			}
			if parts++; strings.Contains(a, secret) {
				t.Errorf("%s becomes %s, and as text %s", line, out, Text(string(line)))
			}
		}
	})
	return parts
}

// decoded parses JSON with numbers of any size.
func decoded(line []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// eachPair calls do with the strings of a value before and after masking.
func eachPair(name string, before, after any, do func(name, before, after string)) {
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		for name, value := range b {
			eachPair(name, value, a[name], do)
		}
	case []any:
		a, _ := after.([]any)
		for i := range min(len(a), len(b)) {
			eachPair(name, b[i], a[i], do)
		}
	case string:
		a, _ := after.(string)
		do(name, b, a)
	}
}
