package mask

import (
	"regexp"
	"strings"
	"testing"
)

// body returns the random part of a key.
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
		`{\"password\":\"correcthorse\"}`:                                          `{\"password\":\"[secret]\"}`,
		`\"Authorization\": \"Basic dXNlcjpwYXNz\"`:                                `\"Authorization\": \"Basic [secret]\"`,
		"cut -----BEGIN PRIVATE KEY-----\nMIIE":                                    "cut [secret]",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestEnvironment checks that only the secrets in the output of env are masked.
func TestEnvironment(t *testing.T) {
	secret := []string{"GITHUB_TOKEN=" + body(20), "MY_SECRET=" + body(12), "AWS_SESSION_TOKEN=" + body(60) + "//+=", "AWS_SECRET_ACCESS_KEY=" + body(40), "DB_PASS=hunter2", "OPENAI_KEY=" + body(24),
		"PGPASSWORD=pw", "MYSQL_PWD=letmein", "SECRET_KEY_BASE=" + body(40), "npm_config__authToken=" + body(30), "REDIS_PASSWORD=a(b)c,d;e}f", "JWT_SECRET='two words and more'", "API_KEY=abcdef"}
	plain := []string{"HOME=/home/ann", "PWD=/home/ann/work", "OLDPWD=/home/ann", "LANG=en_US.UTF-8", "SSH_AUTH_SOCK=/run/user/1000/keyring/ssh", "TOKEN_COUNT=12345678", "KEYBOARD=us-intl-2024",
		"TESTS_PASS=12", "CACHE_KEY=linux-amd64-go126-9f8e7d6c", "MAX_TOKENS=12000000", "XDG_SESSION_TYPE=wayland12", "GPG_TTY=/dev/pts/12345", "DB_PASS=$OTHER", "API_KEY=${API_KEY}", "FIRN_TOKEN="}
	got := Text(strings.Join(append(secret, plain...), "\n"))
	for i, line := range strings.Split(got, "\n") {
		if i < len(secret) {
			name, value, _ := strings.Cut(line, "=")
			if value = strings.Trim(value, "'"); value != Mark {
				t.Errorf("%s is %q", name, value)
			}
		} else if line != plain[i-len(secret)] {
			t.Errorf("%q became %q", plain[i-len(secret)], line)
		}
	}
}

// TestSecretsOfEveryKind checks the remaining text for each kind of secret.
func TestSecretsOfEveryKind(t *testing.T) {
	code := strings.Repeat("ABC234", 5)[:26]
	for text, want := range map[string]string{
		"a firn_" + body(43) + " b":                                      "a [secret] b",
		"http://localhost:7931/login#" + code:                            "http://localhost:7931/login#[secret]",
		"Cookie: firn-7931=firn_" + body(43):                             "Cookie: [secret]",
		"Cookie: a=b; c=d\nHost: x":                                      "Cookie: [secret]\nHost: x",
		"Set-Cookie: id=a3fWa; Path=/":                                   "Set-Cookie: [secret]",
		"curl -sS -u ann:hunter2 https://a.example":                      "curl -sS -u ann:[secret] https://a.example",
		"curl --user 'ann:two' x":                                        "curl --user 'ann:[secret]' x",
		"sshpass -p hunter2 ssh a":                                       "sshpass -p [secret] ssh a",
		"mysql -u root -phunter2 db":                                     "mysql -u root -p[secret] db",
		"machine a.example login ann password pw":                        "machine a.example login ann password [secret]",
		`password = "correct horse battery staple"`:                      `password = "[secret]"`,
		`{"password": "pw1!"}`:                                           `{"password": "[secret]"}`,
		"password=nullhunter2hunter2":                                    "password=[secret]",
		"password=yourhunter2":                                           "password=[secret]",
		"token: example" + body(20):                                      "token: [secret]",
		"**Password:** hunter2hunter2":                                   "**Password:** [secret]",
		"**Password**: `hunter2hunter2`":                                 "**Password**: `[secret]`",
		"__Token:__ " + body(20):                                         "__Token:__ [secret]",
		"DB\\_PASS=hunter2":                                              "DB\\_PASS=[secret]",
		`{"command":"export A_TOKEN=` + body(20) + `\nls -l"}`:           `{"command":"export A_TOKEN=[secret]\nls -l"}`,
		`{"content":"first\nghp_` + body(36) + `\nsk-` + body(30) + `"}`: `{"content":"first\n[secret]\n[secret]"}`,
		"githubToken: '" + body(30) + "'":                                "githubToken: '[secret]'",
		"if password == \"hunter2hunter2\" {":                            "if password == \"[secret]\" {",
		"password:\n  hunter2hunter2":                                    "password:\n  [secret]",
		"postgres://ann:p@ss!w@db/x":                                     "postgres://ann:[secret]@db/x",
		"//registry.example/:_authToken=" + body(30):                     "//registry.example/:_authToken=[secret]",
		`"auth": "` + body(32) + `"`:                                     `"auth": "[secret]"`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestProseIsNotMasked checks that prose about secrets and source code are unchanged.
func TestProseIsNotMasked(t *testing.T) {
	for _, text := range []string{
		"the token count: 12345", "key: value", "key: some-longer-value-2024", "pass: 12 tests", "pass: everything", "PASS: 12 FAIL: 0", "# PASS:  112345678", "pass=12 fail=0",
		"keys:\n  - name: first\n    key: second\n", "primary_key: user_identifier_2024", "sort_key = \"created_at_2024_11_16\"", "session_key: agent:main:telegram:12345678",
		"sessionKey\": \"agent:main:telegram:12345", "token: string;", "password: string", `{"type": "password"}`, `"password": "Enter your password"`, "token := lexer.next()", "token = strings.TrimSpace(word)",
		"Token: authentication failed for this user", "the secret: nobody knows it", "password: required", "password=None", "password=args.password", "api_key=settings.api_key", "token=token",
		"nextPageToken: abcdefgh1234", "a --token option", "use --password flag", "Cookie: a small file", "cookies: yes", "firn_http_refused_total{reason=\"login\"}",
		"firn_compaction_seconds_bucket_of_something_that_is_long_enough", "a task-runner-that-has-a-very-long-name", "std::token::Tokenizer", "the machine login was slow", "default login page",
		"see https://example.org/login#section", "time: 12:34:56", "a -> b: token", "compass: northeast", "bypass=everything", "monkey: bananas12345678", "turkey=sandwich1234567890", "the author: somebody12345678", "<pwd>/home/x</pwd>",
		"pwd: /home/somebody", "TOKEN", "token:", "password=", "=:=:=:", "", "password: ${PASSWORD}", "secret: {{ .Values.secret }}", "password: ********", "password: xxxxxxxx", "$password = $_POST['password']",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestRules checks that every rule compiles and requires its keyword.
func TestRules(t *testing.T) {
	if len(rules) > 64 || len(byPair().lists) > 1<<16 {
		t.Errorf("there are %d rules", len(rules))
	}
	for _, r := range rules {
		if _, err := regexp.Compile(r.expr); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		for _, word := range r.words {
			if word != strings.ToLower(word) || len(word) < 2 {
				t.Errorf("%s: the word %q is too short or not lowercase", r.name, word)
			}
		}
	}
}

// TestPathological checks that adversarial input takes linear time. With quadratic time the
// test would not finish.
func TestPathological(t *testing.T) {
	for _, part := range []string{"token=", "password:", "a_key:", "a_key=", "pass: ", "password: \"", "password: \"a ", "token:\n", "token:_", "[secret]token:", "sk-", "sk-a", "\nsk-", "ghp_", "firn_", "://", "a://b:c@", "a://b:", "-----BEGIN ",
		"-----BEGIN PRIVATE KEY-----", "-----END ", "A\n-----END", "cookie:", "cookie: a=", "curl ", "curl -u ", "machine a ", "mysql ", "1:AA", "1234567890", "eyJaaaaaaaa.", "bearer ", "authorization: ", "-token ", "=", ":", "\\", "__", "*", "password\\\"", "sshpass -", "default "} {
		text := strings.Repeat(part, (128<<10)/len(part))
		if got := Text(text); len(got) > 3*len(text) {
			t.Errorf("%q: %d bytes became %d", part, len(text), len(got))
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

// BenchmarkText compares the cost with and without the gitleaks rules.
func BenchmarkText(b *testing.B) {
	for name, part := range map[string]string{
		"prose": "an ordinary line about keys and locks, tokens and nothing else. ",
		"code":  "\tif err := f(ctx, key); err != nil {\n\t\treturn fmt.Errorf(\"x: %w\", err)\n\t}\n",
		"yaml":  "name: a\nkey: value\ntoken: $T\nurl: https://a.example/b\n",
		"words": "a cookie from curl to a mysql machine with authorization and a task-list; ",
		"names": "a tweet on twitter, a bot on discord, a build on travis, a page of cloudflare. ",
		"json":  `{"command":"ls -l\ncat \"a file\"","url":"https:\/\/a.example\/b"},`,
	} {
		text := strings.Repeat(part, 2048/len(part))
		for with, t := range map[string]*triggers{"ours": newTriggers(nil), "all": byPair()} {
			b.Run(name+"/"+with, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					search(text, t)
				}
			})
		}
		b.Run(name+"/unfolded", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Text(text)
			}
		})
	}
}
