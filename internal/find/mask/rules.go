package mask

// rule is the form of a kind of secret. The expression is matched where one of the
// lower-case keywords occurs. If it has a group, only the group is the secret.
type rule struct {
	name, expr string
	words      []string
	// edge requires that a word starts at the keyword, random that the secret has
	// lower-case and upper-case letters. If back is set, digits before the keyword belong
	// to the secret.
	edge, random, back bool
	// start requires that the text starts with the secret, as in a fragment of a longer
	// text.
	start bool
	// command limits the search to one match per command, whose name is the keyword.
	command bool
}

// rules are our own forms of secrets.
var rules = []rule{
	{name: "private key", expr: `-----BEGIN[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END[ A-Z0-9_-]{0,64}-----|\z)`, words: []string{"-----begin"}},
	{name: "end of a private key", expr: `[A-Za-z0-9+/=\r\n\\]*-----END[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?-----`, words: []string{"-----end"}, start: true},
	{name: "firn", expr: `firn_[A-Za-z0-9_-]{43}`, words: []string{"firn_"}, random: true},
	{name: "code of a login", expr: `/login#([A-Z2-7]{20,})`, words: []string{"/login#"}},
	{name: "model provider", expr: `sk-(?:ant-|proj-|or-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}`, words: []string{"sk-"}, edge: true},
	{name: "payment provider", expr: `(?:sk|rk|pk|whsec)_(?:live|test|prod)?_?[A-Za-z0-9]{16,}`, words: []string{"sk_", "rk_", "pk_", "whsec_"}, edge: true},
	{name: "code host", expr: `gh[pousr]\\{0,2}_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|glptt-[0-9a-f]{40}`, words: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", `ghp\`, `gho\`, `ghs\`, "github_pat_", "glpat-", "glptt-"}},
	{name: "cloud access", expr: `(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, words: []string{"akia", "asia", "abia", "acca", "a3t"}, edge: true},
	{name: "cloud api", expr: `AIza[A-Za-z0-9_-]{35}`, words: []string{"aiza"}},
	{name: "oauth client", expr: `GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}`, words: []string{"gocspx-", "ya29."}},
	{name: "chat bot", expr: `xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}`, words: []string{"xox", "xapp-"}, edge: true},
	{name: "web hook", expr: `https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}|https://discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]+`, words: []string{"https://hooks.slack.com/", "https://discord"}},
	{name: "package host", expr: `npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{32,}|dckr_pat_[A-Za-z0-9_-]{20,}|rubygems_[0-9a-f]{48}`, words: []string{"npm_", "pypi-", "dckr_pat_", "rubygems_"}, edge: true},
	{name: "other services", expr: `hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|dop_v1_[0-9a-f]{60,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|EAACEdEose0cBA[A-Za-z0-9]+|AGE-SECRET-KEY-1[0-9A-Z]{40,}|lin_api_[A-Za-z0-9]{32,}|tvly-[A-Za-z0-9-]{20,}`,
		words: []string{"hf_", "gsk_", "r8_", "dop_v1_", "sg.", "shpat_", "shpca_", "shppa_", "shpss_", "eaacedeose0cba", "age-secret-key-", "lin_api_", "tvly-"}, edge: true},
	{name: "bot token", expr: `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`, words: []string{":aa"}, back: true},
	{name: "web token", expr: `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, words: []string{"eyj"}, edge: true},
	{name: "authorization", expr: `(?i)authorization\\{0,3}["']?\s*[:=]\s*\\{0,3}["']?(?:bearer|basic|token)\s+([A-Za-z0-9+/=._~-]{8,})`, words: []string{"authorization"}},
	{name: "bearer", expr: `(?i)bearer\s+([A-Za-z0-9+/=._~-]{20,})`, words: []string{"bearer"}},
	{name: "cookie", expr: `(?i)cookie\\{0,3}["']?\s*[:=]\s*\\{0,3}["']?\s*([\w.$%-]+=[^\r\n"'\\]+)`, words: []string{"cookie"}},
	{name: "cookie on a command line", expr: `--cookie[ =]["']?([\w.$%-]+=[^\r\n"'\\]+)`, words: []string{"--cookie"}},
	{name: "command line", expr: `(?i)-(?:password|passwd|passphrase|pass|token|secret|api-?key)[ =]["']?([^\s"'` + "`" + `]{6,})`,
		words: []string{"-passw", "-passp", "-pass ", "-pass=", "-token", "-secret", "-api-key", "-apikey"}},
	{name: "curl", expr: `curl\s[^\n]*?(?:-u|--user|--proxy-user)[ =]?["']?[^\s:"']{1,64}:([^\s"']+)`, words: []string{"curl "}, edge: true, command: true},
	{name: "sshpass", expr: `sshpass\s[^\n]*?-p ?["']?([^\s"']+)`, words: []string{"sshpass "}, command: true},
	{name: "mysql", expr: `(?:mysql(?:dump|admin)?|mariadb(?:-dump)?)\s(?:[^\n]*?\s)?-p([^\s"']{3,})`, words: []string{"mysql", "mariadb"}, command: true},
	{name: "netrc", expr: `machine\s+\S+\s+(?:login\s+\S+\s+)?(?:account\s+\S+\s+)?password\s+(\S+)`, words: []string{"machine"}, edge: true},
	{name: "netrc of all", expr: `default\s+login\s+\S+\s+password\s+(\S+)`, words: []string{"default"}, edge: true},
}
