package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/unit"
	"firn.dev/internal/render/prose"
)

// watchService is a service that keeps mirroring other tools, for one manager of services.
type watchService struct {
	// path is the file that defines it, and render its text.
	path   string
	render func(unit.Service) string
	// start and stop are the commands of the manager. A service that runs already is restarted.
	start [][]string
	stop  []string
}

// watchName is the name of the service.
const watchName = "firn-adopt"

// watchAgain begins the line of a systemd unit with the command that installs it again.
const watchAgain = "# To install it again: "

// watchService returns the service for this system.
func (p adoptCommands) watchService() (watchService, error) {
	user, _, err := p.toolHomes()
	if err != nil {
		return watchService{}, err
	}
	switch runtime.GOOS {
	case "darwin":
		path := filepath.Join(user, "Library", "LaunchAgents", "firn.adopt.plist")
		return watchService{path, unit.Service.Launchd, [][]string{{"launchctl", "unload", path}, {"launchctl", "load", "-w", path}}, []string{"launchctl", "unload", "-w", path}}, nil
	case "windows":
		return watchService{}, &usageError{message: "--install needs systemd or launchd", hint: "add a task that runs firn adopt --yes --watch at login to the Task Scheduler"}
	}
	config := p.env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(user, ".config")
	}
	name := watchName + ".service"
	return watchService{
		filepath.Join(config, "systemd", "user", name), unit.Service.Systemd,
		[][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", name}, {"systemctl", "--user", "restart", name}}, []string{"systemctl", "--user", "disable", "--now", name},
	}, nil
}

// installWatch adds the service and starts it. Tools or directories restrict what it mirrors.
func (p adoptCommands) installWatch(ctx context.Context, args []string, link bool) error {
	s, err := p.watchService()
	if err != nil {
		return err
	}
	if _, err := p.find(ctx, args); err != nil { // names that do not exist are reported now, not in a log
		return err
	}
	command, err := findCommands(p).recallProgram()
	if err != nil {
		return err
	}
	command = append(command, "adopt", "--yes", "--watch")
	if link {
		command = append(command, "--link")
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if strings.ContainsRune(arg, filepath.Separator) || isDir(arg) { // a service has another working directory
			if args[i], err = filepath.Abs(arg); err != nil {
				return err
			}
		}
	}
	command = append(command, args...)
	text := s.render(unit.Service{Command: command, Env: p.toolVariables(), What: "mirror of other tools' sessions", Label: "firn.adopt", Drain: 15 * time.Second})
	if strings.HasPrefix(text, "[") { // a comment of a property list may not contain flags
		text = watchAgain + installCommand(args, link) + "\n" + text
	}
	before, err := ownService(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	undo := "firn adopt --uninstall"
	if before != nil && string(before) != text {
		undo = againCommand(before)
	}
	if string(before) != text {
		if err := errors.Join((vfs.OS{}).MkdirAll(filepath.Dir(s.path)), vfs.WriteFile(vfs.OS{}, s.path, []byte(text))); err != nil {
			return err
		}
	}
	var failed error
	for _, command := range s.start { // what only the last one needs may fail, as unloading a service that is not loaded
		failed = manage(ctx, command)
	}
	return p.print(map[string]any{"file": s.path, "started": failed == nil, "undo": p.again(undo)}, func() string {
		note := ""
		if before != nil && string(before) != text {
			note = "it replaces a service with other arguments\n"
		}
		return fmt.Sprintf("wrote %s\n%s%sundo: %s\n", prose.Clean(s.path), note, startedText(failed, s.start), prose.Clean(undo))
	})
}

// againCommand returns the command that installs a service again.
func againCommand(text []byte) string {
	if first, _, _ := strings.Cut(string(text), "\n"); strings.HasPrefix(first, watchAgain) {
		return strings.TrimPrefix(first, watchAgain)
	}
	return "firn adopt --install"
}

// installCommand returns the command that installs the service.
func installCommand(args []string, link bool) string {
	words := []string{"firn adopt --install"}
	if link {
		words = append(words, "--link")
	}
	for _, arg := range args {
		words = append(words, quote(arg))
	}
	return strings.Join(words, " ")
}

// toolVariables returns the variables that name the directories of tools, since a service has
// another environment than the shell.
func (p adoptCommands) toolVariables() []string {
	var all []string
	for _, name := range append(slices.Collect(maps.Values(homeVariables)), "XDG_DATA_HOME") {
		if value := p.env(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	slices.Sort(all)
	return all
}

// startedText reports whether the manager did what was asked, and what to run if not.
func startedText(failed error, commands [][]string) string {
	if failed == nil {
		return "it runs now, and after each login\n"
	}
	var lines []string
	for _, command := range commands {
		lines = append(lines, strings.Join(command, " "))
	}
	return fmt.Sprintf("it was not started: %s\nto start it, run %s\n", prose.OneLine(failed.Error(), 200), strings.Join(lines, "; "))
}

// uninstallWatch stops the service and removes it. The mirrors stay.
func (p adoptCommands) uninstallWatch(ctx context.Context) error {
	s, err := p.watchService()
	if err != nil {
		return err
	}
	text, err := ownService(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return &hinted{fmt.Errorf("remove %s: the service is not installed", s.path), "firn adopt --install adds it"}
	}
	if err != nil {
		return err
	}
	again := againCommand(text)
	failed := manage(ctx, s.stop)
	if err := (vfs.OS{}).Remove(s.path); err != nil {
		return err
	}
	return p.print(map[string]any{"file": s.path, "stopped": failed == nil, "undo": p.again(again)}, func() string {
		note := ""
		if failed != nil {
			note = fmt.Sprintf("if it runs, it stops at logout: %s\n", prose.OneLine(failed.Error(), 200))
		}
		return fmt.Sprintf("removed %s; the mirrors stay\n%sundo: %s\n", prose.Clean(s.path), note, prose.Clean(again))
	})
}

// ownService reads the file of the service. It fails if firn did not write it.
func ownService(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(text), "adopt") || !strings.Contains(string(text), "--watch") {
		return nil, &hinted{fmt.Errorf("change %s: firn did not write it", path), "rename the file, or remove it"}
	}
	return text, nil
}

// manage runs a command of the manager of services.
func manage(ctx context.Context, command []string) error {
	ctx, done := context.WithTimeout(ctx, 30*time.Second)
	defer done()
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err == nil {
		return nil
	}
	lines := slices.DeleteFunc(strings.Split(string(out), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	if len(lines) == 0 {
		return fmt.Errorf("%s: %w", command[0], err)
	}
	return errors.New(lines[len(lines)-1])
}

// isDir reports whether there is a directory of a name.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
