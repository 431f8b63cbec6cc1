package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/unit"
)

// accepts returns an error if the command line does not accept these words.
func accepts(words []string) error {
	cmd, rest, err := testProgram().root().Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && !cmd.HasParent() && cmd.Flags().NArg() > 0 {
		err = errors.New("there is no such command")
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	return err
}

func packaging(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unitOf parses a systemd unit: its settings with all their values.
func unitOf(text string) map[string][]string {
	unit := make(map[string][]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			unit[name] = append(unit[name], value)
		}
	}
	return unit
}

// TestServiceUnit checks the unit against the existing commands and settings.
func TestServiceUnit(t *testing.T) {
	known := unitOf(packaging(t, "firn.service"))
	if len(known["ExecStart"]) != 1 {
		t.Fatalf("it starts %q", known["ExecStart"])
	}
	words := strings.Fields(known["ExecStart"][0])
	if err := accepts(words[1:]); err != nil {
		t.Errorf("%q is not accepted: %v", words, err)
	}
	if accepts([]string{"serve", "--lisen", "127.0.0.1:7766"}) == nil || accepts([]string{"sreve"}) == nil {
		t.Error("anything is accepted")
	}
	for name, want := range map[string]string{
		"StateDirectory": "firn", "StateDirectoryMode": "0700", "UMask": "0077", "DynamicUser": "yes", "NoNewPrivileges": "yes", "ProtectSystem": "strict",
		"LimitCORE": "0", "CapabilityBoundingSet": "", "Type": "exec", "WantedBy": "multi-user.target",
	} {
		if got := known[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if home := words[2]; home != "/var/lib/"+known["StateDirectory"][0] || home != known["WorkingDirectory"][0] {
		t.Errorf("the home is %s, and the directory that may be written to is %s", home, known["StateDirectory"])
	}
	settings, err := config.Open(filepath.Join(t.TempDir(), "none.toml"), nil, map[string]string{"home": "/h"})
	if err != nil {
		t.Fatal(err)
	}
	want := unitOf(unit.Service{Command: words, Home: settings.Home, Drain: time.Duration(settings.Gateway.Drain)}.Systemd())
	for _, name := range []string{"TimeoutStopSec", "ExecReload", "Restart", "Type"} {
		if known[name][0] != want[name][0] {
			t.Errorf("%s is %s, but firn serve --print-unit prints %s", name, known[name][0], want[name][0])
		}
	}
	for _, page := range regexp.MustCompile(`man:([a-z-]+)\(1\)`).FindAllStringSubmatch(packaging(t, "firn.service"), -1) {
		if words := strings.Split(page[1], "-"); accepts(words[1:]) != nil {
			t.Errorf("there is no manual page %s", page[1])
		}
	}
}

// TestContainerfile checks the Containerfile against the existing commands and settings.
// tools/check-container.sh checks that the program needs nothing else.
func TestContainerfile(t *testing.T) {
	text := packaging(t, "Containerfile")
	lists := make(map[string][]string)
	for _, m := range regexp.MustCompile(`(?m)^(ENTRYPOINT|CMD|HEALTHCHECK) .*?(\[.*\])$`).FindAllStringSubmatch(text, -1) {
		var words []string
		if err := json.Unmarshal([]byte(m[2]), &words); err != nil {
			t.Fatalf("%s: %v", m[0], err)
		}
		lists[m[1]] = words
	}
	if err := accepts(lists["CMD"]); err != nil || len(lists["CMD"]) == 0 {
		t.Errorf("%q is not accepted: %v", lists["CMD"], err)
	}
	if health := lists["HEALTHCHECK"]; len(health) == 0 || health[0] != lists["ENTRYPOINT"][0] || accepts(health[1:]) != nil {
		t.Errorf("%q is not accepted", health)
	}
	env := regexp.MustCompile(`(?m)^ENV (.*)$`).FindStringSubmatch(text)
	if env == nil {
		t.Fatal("no variables are set")
	}
	settings, err := config.Open(filepath.Join(t.TempDir(), "none.toml"), strings.Fields(env[1]), map[string]string{"gateway.listen": lists["CMD"][2]})
	if err != nil {
		t.Errorf("the settings are invalid: %v", err)
	}
	if !strings.Contains(text, "\nVOLUME "+settings.Home+"\n") {
		t.Errorf("the home %s is no volume", settings.Home)
	}
	if user := regexp.MustCompile(`(?m)^USER ([0-9]+):([0-9]+)$`).FindStringSubmatch(text); user == nil || user[1] == "0" {
		t.Errorf("it runs as %q", user)
	}
}

// TestComposeAndChart checks the compose files and the Helm chart against the existing
// settings, and that they run the gateway with as few rights as the Containerfile.
func TestComposeAndChart(t *testing.T) {
	container := packaging(t, "Containerfile")
	for name, needs := range map[string][]string{
		"compose/gateway.yaml": {"read_only: true", "- ALL", "no-new-privileges:true", "home:/var/lib/firn", `"127.0.0.1:7766:7766"`, "stop_grace_period: 45s"},
		"compose/cluster.yaml": {"read_only: true", "- ALL", "no-new-privileges:true", "g3:/var/lib/firn", `"127.0.0.1:7768:7766"`, "n3:/var/lib/nats", "stop_grace_period: 45s"},
		"helm/firn/templates/statefulset.yaml": {"readOnlyRootFilesystem: true", "drop: [ALL]", "allowPrivilegeEscalation: false", "runAsNonRoot: true", "enableServiceLinks: false", "runAsUser: 65532", "containerPort: 7766",
			"mountPath: /var/lib/firn", "path: /readyz", "path: /healthz", "value: localhost"},
	} {
		text := packaging(t, name)
		for _, need := range needs {
			if !strings.Contains(text, need) {
				t.Errorf("%s lacks %s", name, need)
			}
		}
		env := []string{"FIRN_HOME=/var/lib/firn"}
		for _, m := range regexp.MustCompile(`(?m)^ *(?:- name: )?(FIRN_[A-Z_]+)(?:: (\S+))?$`).FindAllStringSubmatch(text, -1) {
			value := m[2]
			if value == "" { // a template
				value = map[string]string{
					"FIRN_HOME": "/var/lib/firn/home", "FIRN_GATEWAY__DRAIN": "30s", "FIRN_STORE": "nats://n1:4222", "FIRN_STORE__MONITORS": "http://n1:8222",
					"FIRN_GATEWAY__ALLOWED_HOSTS": "firn,firn.default.svc", "FIRN_STORE__CREDENTIALS_FILE": "/etc/firn/firn.creds",
				}[m[1]]
			}
			env = append(env, m[1]+"="+value)
		}
		if _, err := config.Open(filepath.Join(t.TempDir(), "none.toml"), env, nil); err != nil {
			t.Errorf("%s: the settings %q are invalid: %v", name, env, err)
		}
		for _, m := range regexp.MustCompile(`(?m)exec \w+ /firn (.*)$`).FindAllStringSubmatch(text, -1) {
			if err := accepts(strings.Fields(m[1])); err != nil {
				t.Errorf("%s: firn %s is not accepted: %v", name, m[1], err)
			}
		}
	}
	if !strings.Contains(container, "\nUSER 65532:65532\n") || !strings.Contains(container, "\nVOLUME /var/lib/firn\n") {
		t.Error("the user or the volume of the Containerfile differs")
	}
	for _, need := range []string{"sync_interval: always", "server_name: $SERVER", "store_dir: /var/lib/nats"} {
		if !strings.Contains(packaging(t, "compose/nats.conf"), need) {
			t.Errorf("nats.conf lacks %s", need)
		}
	}
}

// TestInstall checks the instructions in a release archive against the existing commands
// and files.
func TestInstall(t *testing.T) {
	text, release := packaging(t, "INSTALL.md"), packaging(t, "../tools/release.sh")
	commands := regexp.MustCompile("(?m)(?:^\\./|`)firn ([a-z][^`#\n(]*)").FindAllStringSubmatch(text, -1)
	if len(commands) < 4 {
		t.Errorf("it has the commands %q", commands)
	}
	for _, c := range commands {
		if err := accepts(strings.Fields(c[1])); err != nil {
			t.Errorf("firn %s is not accepted: %v", c[1], err)
		}
	}
	for _, name := range regexp.MustCompile(`completions/[\w.]+`).FindAllString(text, -1) {
		if name != "completions/firn" && !strings.Contains(release, `"$dir/`+name+`"`) {
			t.Errorf("no %s is in the archive", name)
		}
	}
}

// TestPagesHaveLicenses checks that the licenses of bundled web modules are included.
func TestPagesHaveLicenses(t *testing.T) {
	var bundle struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal([]byte(packaging(t, "../internal/door/webui/package.json")), &bundle); err != nil || len(bundle.Dependencies) == 0 {
		t.Fatalf("%v %v", bundle, err)
	}
	for name := range bundle.Dependencies {
		file := strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + ".txt"
		if text := packaging(t, "licences/"+file); !strings.Contains(text, "Copyright") {
			t.Errorf("the license of %s is %q", name, text)
		}
	}
}
