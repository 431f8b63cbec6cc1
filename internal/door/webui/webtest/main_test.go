package webtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// house is shared by all tests: the program, the browser, and the gateways whose homes are
// expensive to create.
type house struct {
	dir string
	// firn builds the program once and returns its path.
	firn func() (string, error)
	// browser is the context of the browser, without a tab.
	browser context.Context
	model   *model

	plain, crowd, golden onceServer
}

// onceServer is a gateway that is started on first use.
type onceServer struct {
	once   sync.Once
	server *server
	err    error
}

var world house

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "firn-webtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	world.dir = dir
	world.firn = sync.OnceValues(build)
	close, err := openBrowser()
	if err != nil {
		fmt.Fprintf(os.Stderr, "the browser does not start: %v\ntools/setup.sh installs it\n", err)
		return 1
	}
	defer close()
	world.model = newModel()
	defer world.model.close()
	defer world.plain.stop()
	defer world.crowd.stop()
	defer world.golden.stop()
	return m.Run()
}

// build builds the program under test. FIRN_WEBTEST names an existing one.
func build() (string, error) {
	if built := os.Getenv("FIRN_WEBTEST"); built != "" {
		return built, nil
	}
	path := filepath.Join(world.dir, "firn")
	if out, err := exec.Command("go", "build", "-o", path, "firn.dev/cmd/firn").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building firn: %w\n%s", err, out)
	}
	return path, nil
}

// openBrowser starts the browser with a temporary profile.
func openBrowser() (close func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // containers lack the namespaces for a sandbox
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.WSURLReadTimeout(patience),
		chromedp.UserDataDir(filepath.Join(world.dir, "profile")),
	)
	if path := findBrowser(); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	browser, stop := chromedp.NewContext(allocator)
	if err := chromedp.Do(browser); err != nil {
		stop()
		stopAllocator()
		return nil, err
	}
	world.browser = browser
	return func() {
		chromedp.Cancel(browser)
		stop()
		stopAllocator()
	}, nil
}

// findBrowser prefers the headless build. An empty result leaves the choice to chromedp.
func findBrowser() string {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// get starts the gateway on first use.
func (o *onceServer) get(t testing.TB, start func() (*server, error)) *server {
	t.Helper()
	o.once.Do(func() { o.server, o.err = start() })
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.server
}

func (o *onceServer) stop() {
	if o.server != nil {
		o.server.stop()
	}
}
