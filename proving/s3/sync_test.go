package s3

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine is a home that syncs with the bucket.
type machine struct {
	t    *testing.T
	home string
	env  []string
}

// newMachine returns a machine without sessions.
func newMachine(t *testing.T) *machine {
	t.Helper()
	home := t.TempDir()
	return &machine{t, filepath.Join(home, "home"), append(os.Environ(), "HOME="+home, "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey,
		"AWS_SHARED_CREDENTIALS_FILE="+filepath.Join(home, "none"))}
}

func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, append(args, "--home", m.home)...)
	cmd.Env = m.env
	return cmd
}

// run runs the program, which must succeed.
func (m *machine) run(stdin string, args ...string) string {
	m.t.Helper()
	cmd := m.command(m.t.Context(), args...)
	cmd.Stdin = strings.NewReader(stdin)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("firn %v: %v\n%s%s", args, err, out, failed.String())
	}
	return string(out)
}

// messages returns the messages of users in all sessions, sorted.
func (m *machine) messages() []string {
	m.t.Helper()
	var all []string
	for line := range strings.Lines(m.run("", "grep", " of ", "--json")) {
		var hit struct{ Role, Entry, Text string }
		if err := json.Unmarshal([]byte(line), &hit); err != nil {
			m.t.Fatalf("%v: %.200s", err, line)
		}
		if hit.Role == "user" {
			all = append(all, hit.Entry+" "+hit.Text)
		}
	}
	slices.Sort(all)
	return all
}

// TestErrors adds buckets that cannot be used: each is reported with a sentence and a hint.
func TestErrors(t *testing.T) {
	p := newProxy(t, func(*http.Request) fault { return none })
	cases := map[string]struct {
		env, target, endpoint string
		want, hint            string
	}{
		"no credentials":   {"AWS_ACCESS_KEY_ID=", bucket, p.url, "there are no S3 credentials", "set AWS_ACCESS_KEY_ID"},
		"a wrong key":      {"AWS_ACCESS_KEY_ID=someone", bucket, p.url, "rejected the S3 credentials (InvalidAccessKeyId)", "check AWS_ACCESS_KEY_ID"},
		"a wrong secret":   {"AWS_SECRET_ACCESS_KEY=x", bucket, p.url, "rejected the S3 credentials (SignatureDoesNotMatch)", "AWS_SECRET_ACCESS_KEY"},
		"no bucket":        {"", "elsewhere", p.url, "there is no bucket elsewhere", "create it"},
		"another region":   {"", bucket + "?region=eu-north-1", p.url, "is in another region", "--region us-east-1"},
		"no server":        {"", bucket, "http://127.0.0.1:1", "127.0.0.1:1 cannot be reached", "check the network"},
		"not an S3 server": {"", bucket, "ftp://127.0.0.1", "is not the URL of an S3 server", "use https://HOST"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.env = append(m.env, c.env)
			out, err := m.command(t.Context(), "sync", "add", "cloud", "s3://"+c.target, "--endpoint", c.endpoint).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), c.hint) {
				t.Errorf("%v:\n%s", err, out)
			}
			if _, err := os.Stat(filepath.Join(m.home, "sync", "config.json")); err == nil {
				t.Error("the target was added")
			}
		})
	}
}

// TestCredentialsFile reads the credentials from the shared file. Nothing of them is in the
// home.
func TestCredentialsFile(t *testing.T) {
	p := newProxy(t, func(*http.Request) fault { return none })
	m := newMachine(t)
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[firn]\naws_access_key_id = "+accessKey+"\naws_secret_access_key = "+secretKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_SHARED_CREDENTIALS_FILE="+file, "AWS_PROFILE=firn")
	m.run("", "new", "--title", "one")
	m.run("", "sync", "add", "cloud", "s3://"+bucket+"/file", "--endpoint", p.url)
	m.run("", "sync")
	err := filepath.WalkDir(m.home, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secretKey) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMachinesConverge runs the property test of internal/ops/sessionsync with buckets: steps
// go through a proxy with faults, the last syncs do not.
func TestMachinesConverge(t *testing.T) {
	faulty, clean := newProxy(t, atRandom(t, 6)), newProxy(t, func(*http.Request) fault { return none })
	cmd := exec.CommandContext(t.Context(), suite, "-test.run=^TestMachinesConverge$", "-test.v", "-test.timeout="+limit.String())
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey,
		"FIRN_SYNC_S3="+clean.url, "FIRN_SYNC_S3_FAULTY="+faulty.url, "FIRN_SYNC_S3_BUCKET="+bucket, "FIRN_SYNC_S3_DIR="+filepath.Join(root, bucket))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestMachinesConverge") {
		t.Fatalf("%v:\n%s", err, out)
	}
	for f := delay; f <= busy; f++ {
		if faulty.faults[f] == 0 {
			t.Errorf("fault %d did not happen in %v", f, faulty.faults)
		}
	}
}

// TestKill kills a sync at every request of it, before or after the server has handled the
// request. The next sync continues.
func TestKill(t *testing.T) {
	well := func(*http.Request) fault { return none }
	p := newProxy(t, well)
	a, b := newMachine(t), newMachine(t)
	a.run("", "new", "--title", "both")
	a.run("", "sync", "add", "cloud", "s3://"+bucket+"/kill", "--endpoint", p.url, "--machine", "a")
	b.run(a.run("", "sync", "identity"), "sync", "add", "cloud", "s3://"+bucket+"/kill", "--endpoint", p.url, "--machine", "b", "--identity", "-")
	a.run("", "sync")
	b.run("", "sync")
	rounds := 0
	for n, killed := 1, true; killed; n++ {
		rounds++
		a.run("", "append", "both", "--user", fmt.Sprintf("message %d of a", n))
		b.run("", "append", "both", "--user", fmt.Sprintf("message %d of b", n))
		b.run("", "sync")
		var count int
		ctx, kill := context.WithCancel(t.Context())
		p.set(func(*http.Request) fault {
			if count++; count != n {
				return none
			}
			kill()
			if n%2 == 0 {
				return loseRequest
			}
			return loseResponse
		})
		out, err := a.command(ctx, "sync").CombinedOutput()
		killed = ctx.Err() != nil
		if !killed && err != nil {
			t.Fatalf("the sync without a kill: %v\n%s", err, out)
		}
		kill()
		p.set(well)
		a.run("", "sync")
	}
	b.run("", "sync")
	a.run("", "sync")
	x, y := a.messages(), b.messages()
	if !slices.Equal(x, y) || len(slices.Compact(slices.Clone(x))) != len(x) || len(x) != 2*rounds {
		t.Errorf("a has %d messages, b %d, of %d", len(x), len(y), 2*rounds)
	}
	if out := a.run("", "verify"); !strings.Contains(out, "no faults") {
		t.Error(out)
	}
}
