package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// serveArg makes this program the Go server.
const serveArg = "-serve-hi"

// serve answers every request with two bytes, and says where.
func serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hi") }))
}

// A target is a server to load.
type server struct {
	name, url string
	stop      func()
}

// servers starts nginx, where it is installed, and a Go server.
func (b *bench) servers() ([]server, error) {
	var out []server
	if _, err := exec.LookPath("nginx"); err != nil {
		fmt.Fprintln(b.log, "loadbench: nginx is not installed and left out: apt-get install nginx-light")
	} else {
		s, err := b.nginx()
		if err != nil {
			return nil, fmt.Errorf("nginx: %w", err)
		}
		out = append(out, s)
	}
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	cmd := b.pinned("0", self, serveArg)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return out, err
	}
	if err := cmd.Start(); err != nil {
		return out, err
	}
	stop := func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		stop()
		return out, err
	}
	return append(out, server{"Go", "http://" + strings.TrimSpace(line) + "/", stop}), nil
}

const nginxConf = `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx.log;
events { worker_connections 4096; }
http {
	access_log off;
	keepalive_requests 1000000000;
	client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
	server { listen %[2]s; location / { return 200 "hi"; } }
}
`

func (b *bench) nginx() (s server, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	addr := l.Addr().String()
	l.Close()
	conf := filepath.Join(b.dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, b.dir, addr), 0o644); err != nil {
		return s, err
	}
	cmd := b.pinned("0", "nginx", "-c", conf)
	cmd.Stderr = b.log
	if err := cmd.Start(); err != nil {
		return s, err
	}
	stop := func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	for range 100 {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return server{"nginx", "http://" + addr + "/", stop}, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return s, fmt.Errorf("it does not listen at %s", addr)
}
