package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// asks measures the whole command as a user runs it: from its start, with a session to
// resume and a question, until the model request. A fake provider receives the request, and
// the command is killed then.
func (n *peerBench) asks() error {
	home := filepath.Join(n.dir, "ask")
	file, claude, err := n.prepared(home, "s", 2e6, true)
	if err != nil {
		return err
	}
	p, err := newProvider()
	if err != nil {
		return err
	}
	defer p.server.Close()
	if err := n.writeSettings(home, p.url); err != nil {
		return err
	}
	codex, err := n.handOff(home)
	if err != nil {
		n.apart = append(n.apart, "ask by Codex: "+err.Error())
	}
	const question = "What was it?"
	args := map[string][]string{
		byFirn:   {"chat", "--home", home, "-p", "-r", "s", "-m", "fake/fake-1", question},
		byPi:     {"--model", "fake/fake-1", "--session", file, "-p", question},
		byClaude: {"-p", question, "--resume", claude},
	}
	if codex != "" {
		args[byCodex] = []string{"exec", "--skip-git-repo-check", "resume", codex, question}
	}
	by := make(map[string]func() (listed, error))
	for name, command := range n.commands() {
		if len(command) == 0 || args[name] == nil {
			continue
		}
		by[name] = func() (listed, error) { return n.ask(p, append(command, args[name]...)) }
	}
	return n.compare("the command, with a session of 2 MB, until the model is asked", by)
}

// writeSettings writes the settings of all tools with the fake provider as the only one.
func (n *peerBench) writeSettings(home, url string) error {
	for path, text := range map[string]string{
		filepath.Join(home, "firn.toml"):                         fmt.Sprintf("[providers.fake]\nkind = \"openai-chat\"\nurl = \"%s/v1\"\nkey_env = \"FAKE_KEY\"\n[providers.fake.models.fake-1]\nwindow = 1000000\n", url),
		filepath.Join(n.user(), ".pi", "agent", "models.json"):   fmt.Sprintf(`{"providers":{"fake":{"baseUrl":%q,"api":"anthropic-messages","apiKey":"none","models":[{"id":"fake-1","reasoning":true,"input":["text"]}]}}}`, url),
		filepath.Join(n.user(), ".pi", "agent", "settings.json"): `{}`,
		filepath.Join(n.user(), ".codex", "config.toml"): fmt.Sprintf("model = \"fake-1\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n[model_providers.fake]\nname = \"fake\"\n"+
			"base_url = \"%s/v1\"\nenv_key = \"FAKE_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n", url),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// place is the working directory of the commands and sessions.
func (n *peerBench) place() string { return filepath.Join(n.dir, "place") }

// handOff hands the session to Codex, and returns its ID there.
func (n *peerBench) handOff(home string) (string, error) {
	cmd := exec.Command(n.firn, "handoff", "s", "--home", home, "--to", "codex", "--folder", filepath.Join(n.user(), ".codex"), "--cwd", n.place())
	cmd.Env = n.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("hand over: %w: %s", err, out)
	}
	_, rest, ok := strings.Cut(string(out), "resume ")
	if !ok {
		return "", fmt.Errorf("hand over: got %q", out)
	}
	return strings.Trim(strings.Fields(rest)[0], "'\"`"), nil
}

// ask starts a command and returns when the provider receives the request.
func (n *peerBench) ask(p *fakeProvider, command []string) (listed, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = n.place()
	cmd.Env = append(n.env(), "FAKE_KEY=none", "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+p.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"HTTPS_PROXY="+p.url, "https_proxy="+p.url, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	select {
	case <-p.asked: // from the previous run
	default:
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return listed{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case at := <-p.asked:
		cancel()
		<-ended
		return listed{Time: at.Sub(start)}, nil
	case err := <-ended:
		return listed{}, fmt.Errorf("it did not ask: %w: %.300s", errors.Join(err, ctx.Err()), output.String())
	}
}

// fakeProvider records the time of a request.
type fakeProvider struct {
	url    string
	server *http.Server
	asked  chan time.Time
}

func newProvider() (*fakeProvider, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &fakeProvider{url: "http://" + l.Addr().String(), asked: make(chan time.Time, 1)}
	mux := http.NewServeMux()
	for _, path := range []string{"/v1/messages", "/v1/chat/completions", "/v1/responses"} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil && strings.Contains(string(body), "What was it?") {
				select {
				case p.asked <- time.Now():
				default:
				}
			}
			http.Error(w, "that is all", http.StatusForbidden)
		})
	}
	p.server = &http.Server{Handler: mux}
	go p.server.Serve(l)
	return p, nil
}
