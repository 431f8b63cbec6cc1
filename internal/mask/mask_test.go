package mask

import (
	"regexp"
	"strings"
	"testing"
)

// body makes the random part of a key.
func body(n int) string { return strings.Repeat("aB3dE5gH", n/8+1)[:n] }

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"nothing to hide":                             "nothing to hide",
		"key sk-" + body(40) + " ok":                  "key [secret] ok",
		"sk-ant-" + "api03-" + body(40):               "[secret]",
		"sk_live_" + body(24):                         "[secret]",
		"ghp_" + body(36) + ",":                       "[secret],",
		"github_pat_" + body(30):                      "[secret]",
		"AKIA" + strings.Repeat("ABCD", 4):            "[secret]",
		"AIza" + body(35):                             "[secret]",
		"xoxb-" + body(20):                            "[secret]",
		"npm_" + body(36):                             "[secret]",
		"hf_" + body(34):                              "[secret]",
		"eyJ" + body(20) + ".eyJ" + body(20) + ".sig": "[secret]",
		"postgres://ann:hunter2!@db:5432/x":           "postgres://ann:[secret]@db:5432/x",
		"Authorization: Bearer " + body(30):           "Authorization: Bearer [secret]",
		`"api_key": "` + body(20) + `"`:               `"api_key": "[secret]"`,
		"PASSWORD=correcthorse":                       "PASSWORD=[secret]",
		"export TOKEN='" + body(20) + "'":             "export TOKEN='[secret]'",
		"mysql --password=letmein123 db":              "mysql --password=[secret] db",
		"password=$DB_PASSWORD":                       "password=$DB_PASSWORD",
		"api_key = os.environ['KEY']":                 "api_key = os.environ['KEY']",
		"token: your-token-here":                      "token: your-token-here",
		"the password is short":                       "the password is short",
		"see https://example.org/a:b":                 "see https://example.org/a:b",
		"tokens: 1200":                                "tokens: 1200",
		"a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b": "a [secret] b",
		"aB3+\nxY/==\n-----END PRIVATE KEY-----\nand more":                         "[secret]\nand more",
		"say -----END PRIVATE KEY----- at the end":                                 "say -----END PRIVATE KEY----- at the end",
		`{\"password\":\"correcthorse\"}`:                                          `{\"password\":\"[secret]"}`,
		`\"Authorization\": \"Basic dXNlcjpwYXNz\"`:                                `\"Authorization\": \"Basic [secret]\"`,
		"cut -----BEGIN PRIVATE KEY-----\nMIIE":                                    "cut [secret]",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestRules makes sure that every form can be read, and needs its word.
func TestRules(t *testing.T) {
	for _, r := range rules {
		if _, err := regexp.Compile(r.expr); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		for _, word := range r.keywords {
			if word != strings.ToLower(word) {
				t.Errorf("%s: the word %q is not in small letters", r.name, word)
			}
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("password=" + body(20))
	f.Add("-----BEGIN PRIVATE KEY-----")
	f.Fuzz(func(t *testing.T, text string) {
		once := Text(text)
		if twice := Text(once); len(twice) > len(once)+len(Mark) {
			t.Errorf("masking twice makes %q of %q", twice, once)
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("an ordinary line about keys and locks, tokens and nothing else. ", 32)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Text(text)
	}
}
