package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"firn.dev/internal/ops/jetstreamtest"
	"firn.dev/store/jetstream"
)

// servers are NATS servers, each in its own process.
type servers struct{ all []*natsServer }

// natsServer is one of the servers.
type natsServer struct {
	jetstreamtest.Node
	command *exec.Cmd
}

// startServers starts n servers; more than one form a cluster. Lazy servers do not sync
// every write.
func startServers(dir string, n int, lazy bool) (*servers, error) {
	s := &servers{}
	ports, err := freePorts(3 * n)
	if err != nil {
		return nil, err
	}
	for i := range n {
		one := &natsServer{Node: jetstreamtest.Node{Name: fmt.Sprint("n", i+1), Dir: fmt.Sprint(dir, "/n", i+1), Client: ports[i], Monitor: ports[n+i], Lazy: lazy}}
		if n > 1 {
			one.Route, one.Routes = ports[2*n+i], ports[2*n:]
		}
		s.all = append(s.all, one)
	}
	err = runParallel(n, n, func(i int) error { return s.all[i].start() })
	if err != nil {
		s.stop()
	}
	return s, err
}

func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// serverChild is the main function of a server process. It ends with its parent.
func serverChild(args []string) (any, error) { return nil, jetstreamtest.Serve(args[0], os.Stdin) }

func (n *natsServer) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	config, err := json.Marshal(&n.Node)
	if err != nil {
		return err
	}
	n.command = exec.Command(self, "-child", "server", string(config))
	n.command.Stderr = os.Stderr
	if _, err = n.command.StdinPipe(); err != nil { // stays open as long as this process
		return err
	}
	stdout, err := n.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := n.command.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "ready\n" {
		return fmt.Errorf("server %s says %q: %w", n.Name, line, errors.Join(err))
	}
	return nil
}

// kill kills the process, as a crash would.
func (n *natsServer) kill() {
	if n.command != nil && n.command.Process != nil {
		_ = n.command.Process.Kill()
		_ = n.command.Wait()
	}
}

func (s *servers) stop() {
	for _, n := range s.all {
		n.kill()
	}
}

// open opens a store on the servers, as soon as they can create one.
func (s *servers) open() (*jetstream.Store, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o := jetstream.Options{Shards: 1, Unsafe: len(s.all) == 1}
	var urls []string
	for _, n := range s.all {
		urls = append(urls, fmt.Sprint("nats://127.0.0.1:", n.Client))
		o.Monitors = append(o.Monitors, fmt.Sprint("http://127.0.0.1:", n.Monitor))
	}
	o.URL = strings.Join(urls, ",")
	for {
		st, err := jetstream.Open(ctx, o)
		if err == nil || ctx.Err() != nil {
			return st, err
		}
	}
}

// memory returns the total memory of the servers in MB.
func (s *servers) memory() (float64, error) {
	total := 0.0
	for _, n := range s.all {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.command.Process.Pid))
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		kb, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			return 0, err
		}
		total += float64(kb) / 1024
	}
	return total, nil
}

// killLeader kills the leading server of the sessions; restart starts it again.
func (s *servers) killLeader() (restart func() error, err error) {
	name, err := s.leader()
	for begun := time.Now(); err != nil; name, err = s.leader() {
		if time.Since(begun) > time.Minute {
			return nil, err
		}
		time.Sleep(50 * time.Millisecond) // keeps the load of polling low
	}
	for _, n := range s.all {
		if n.Name == name {
			n.kill()
			return n.start, nil
		}
	}
	return nil, fmt.Errorf("no server is called %q, which leads", name)
}

// leader asks the servers for the leader of the sessions' stream.
func (s *servers) leader() (string, error) {
	votes := make(map[string]int)
	for _, n := range s.all {
		var reported struct {
			Accounts []struct {
				Streams []struct {
					Name    string `json:"name"`
					Cluster struct {
						Leader string `json:"leader"`
					} `json:"cluster"`
				} `json:"stream_detail"`
			} `json:"account_details"`
		}
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/jsz?accounts=true&streams=true", n.Monitor))
		if err != nil {
			continue // the server is down
		}
		err = json.NewDecoder(response.Body).Decode(&reported)
		response.Body.Close()
		if err != nil {
			return "", err
		}
		for _, a := range reported.Accounts {
			for _, stream := range a.Streams {
				if strings.HasSuffix(stream.Name, "_S00") && stream.Cluster.Leader != "" {
					votes[stream.Cluster.Leader]++
				}
			}
		}
	}
	for name, n := range votes {
		if n == len(s.all) { // a server that was down may have outdated information
			return name, nil
		}
	}
	return "", errors.New("it is not known who leads the sessions")
}
