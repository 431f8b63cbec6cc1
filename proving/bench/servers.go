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

	"firn.dev/store/jetstream"
	"firn.dev/store/jetstream/jetstreamtest"
)

// servers are NATS servers, each a process of its own.
type servers struct{ all []*natsServer }

// natsServer is one of them.
type natsServer struct {
	jetstreamtest.Node
	command *exec.Cmd
}

// startServers starts so many servers; more than one are a cluster. Lazy ones
// sync now and then.
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
	err = fan(n, n, func(i int) error { return s.all[i].start() })
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

// serverChild is the main function of a server. It ends when its parent does.
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
	if _, err = n.command.StdinPipe(); err != nil { // it is open for as long as we live
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

// kill ends the process as a crash does.
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

// open opens a store on the servers, once they can make one.
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

// memory is how much of it the servers take, in MB.
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

// killLeader kills the server that leads the sessions; restart starts it again.
func (s *servers) killLeader() (restart func() error, err error) {
	name, err := s.leader()
	for begun := time.Now(); err != nil; name, err = s.leader() {
		if time.Since(begun) > time.Minute {
			return nil, err
		}
		time.Sleep(50 * time.Millisecond) // or they would be busy with our asking
	}
	for _, n := range s.all {
		if n.Name == name {
			n.kill()
			return n.start, nil
		}
	}
	return nil, fmt.Errorf("no server is called %q, which leads", name)
}

// leader asks the servers who of them leads the stream of the sessions.
func (s *servers) leader() (string, error) {
	votes := make(map[string]int)
	for _, n := range s.all {
		var told struct {
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
			continue // it is down
		}
		err = json.NewDecoder(response.Body).Decode(&told)
		response.Body.Close()
		if err != nil {
			return "", err
		}
		for _, a := range told.Accounts {
			for _, stream := range a.Streams {
				if strings.HasSuffix(stream.Name, "_S00") && stream.Cluster.Leader != "" {
					votes[stream.Cluster.Leader]++
				}
			}
		}
	}
	for name, n := range votes {
		if n == len(s.all) { // one who was away may believe what is not so any more
			return name, nil
		}
	}
	return "", errors.New("it is not known who leads the sessions")
}
