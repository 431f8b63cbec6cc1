package mask

import "testing"

// TestHTML checks that visible secrets are masked however they are encoded, and that tags
// are kept.
func TestHTML(t *testing.T) {
	key := body(36)
	for text, want := range map[string]string{
		"":                         "",
		"<p>nothing &amp; all</p>": "<p>nothing &amp; all</p>",
		"<p><strong>Password:</strong> hunter2hunter2</p>":                 "<p><strong>Password:</strong> [secret]</p>",
		"<p>ghp&#95;" + key + "</p>":                                       "<p>[secret]</p>",
		"<p>ghp_" + key[:10] + "<strong>" + key[10:] + "</strong>, ok</p>": "<p>[secret]<strong></strong>, ok</p>",
		"<p>ghp_" + key[:9] + "</p><p>" + key[9:] + "</p>":                 "<p>ghp_" + key[:9] + "</p><p>" + key[9:] + "</p>",
		`<code class="language-json"><span class="ha">&#34;password&#34;</span>: <span class="hs">&#34;two words&#34;</span></code>`: `<code class="language-json"><span class="ha">&#34;password&#34;</span>: <span class="hs">&#34;[secret]&#34;</span></code>`,
		`<a href="https://a.example/?x=1&amp;access_token=` + key + `" rel="x">here</a>`:                                             `<a href="https://a.example/?x=1&amp;access_token=[secret]" rel="x">here</a>`,
		"<pre>DB_PASS=a&lt;b&amp;c\nHOME=/x</pre>":                                                                                   "<pre>DB_PASS=[secret]\nHOME=/x</pre>",
		"a < b & c &": "a < b & c &",
	} {
		if got := HTML(text); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", text, got, want)
		}
	}
}
