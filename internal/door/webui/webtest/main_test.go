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

// house is what all tests share: the program, the browser, and the gateways
// whose homes are costly to make.
type house struct {
	dir string
	// firn builds the program, once, and returns its path.
	firn func() (string, error)
	// browser is the context of the browser, without a tab of its own.
	browser context.Context
	model   *model

	plain, crowd onceServer
}

// onceServer is a gateway that is started when the first test asks for it.
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
	return m.Run()
}

// build builds the program that the tests run. FIRN_WEBTEST names one that is
// built already.
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

// openBrowser starts the browser. Its profile is its own and is thrown away.
func openBrowser() (close func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // containers have no name spaces to make one of
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

// findBrowser prefers the small build that has no windows at all. Empty leaves
// the choice to chromedp, which knows where other systems keep theirs.
func findBrowser() string {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// get starts the gateway if no test has asked for it yet.
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
