package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// What a recording of a minute under load has to keep to.
const (
	mostBytes = 5_000_000
	mostLook  = 300 * time.Millisecond
)

// overview is what the page asks for to draw the first view of a recording.
var overview = []string{"/api/session", "/api/top?sort=flat&limit=10", "/api/top?sort=cum&limit=10", "/api/timeline"}

// look records hi under load, and measures how large that is and how soon there is something to see.
func (r *runner) look(ctx context.Context, opt options) ([]line, error) {
	file := filepath.Join(r.dir, "load.hone")
	w := work{dir: "examples/hi", pkg: "./stage0", args: []string{"-addr", "127.0.0.1:0"}}
	_, _, record := w.commands("", file)
	_, err := r.start(ctx, w.dir, nil, append([]string{r.hone}, record...), func(url string) error { return send(ctx, url, 0, opt.load) })
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	lines := []line{{what: "size of " + opt.load.String() + " of hi under load", value: fmt.Sprintf("%.2f MB", float64(st.Size())/1e6),
		target: fmt.Sprintf("≤ %d MB", mostBytes/1_000_000), ok: st.Size() <= mostBytes}}
	var looks, pages []took
	for range opt.rounds {
		t, err := firstLook(ctx, r.hone, file)
		if err != nil {
			return nil, err
		}
		looks = append(looks, t)
		if t, err = openPage(ctx, r.hone, file); err != nil {
			return nil, err
		}
		pages = append(pages, t)
	}
	lines = append(lines, timed("`hone FILE`", looks)...)
	lines = append(lines, timed("`hone web FILE`, from the start to the data of the overview", pages)...)
	if opt.keep != "" {
		err = os.Rename(file, opt.keep)
	}
	return lines, err
}

// took is what something took.
type took struct{ wall, cpu time.Duration }

func timed(what string, ts []took) []line {
	var walls, cpus []time.Duration
	for _, t := range ts {
		walls, cpus = append(walls, t.wall), append(cpus, t.cpu)
	}
	wall := median(walls)
	return []line{
		{what: what, value: milliseconds(wall), target: "≤ " + milliseconds(mostLook), ok: wall <= mostLook},
		{what: "… CPU", value: milliseconds(median(cpus)), ok: true},
	}
}

func firstLook(ctx context.Context, hone, file string) (took, error) {
	cmd := exec.CommandContext(ctx, hone, file)
	start := time.Now()
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		return took{}, fmt.Errorf("hone %s: %w", file, cmp.Or(ctx.Err(), err, errors.New("no output")))
	}
	return took{time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// openPage starts the server and gets what the page would.
func openPage(ctx context.Context, hone, file string) (took, error) {
	cmd := exec.CommandContext(ctx, hone, "web", "--no-browser", file)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return took{}, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return took{}, err
	}
	var wall time.Duration
	text, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		if err = fetch(ctx, text[:len(text)-1]); err == nil {
			wall = time.Since(start)
		}
	}
	if err := errors.Join(err, cmd.Process.Signal(os.Interrupt)); err != nil {
		cmd.Process.Kill()
		cmd.Wait() // which says only that it was killed
		return took{}, fmt.Errorf("hone web %s: %w", file, err)
	}
	io.Copy(io.Discard, stdout)
	cmd.Wait() // it was interrupted
	return took{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// fetch gets the page at an address, which hands out a cookie, and what the overview asks for.
func fetch(ctx context.Context, address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	base, err := url.Parse(address)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar}
	if err := ask(ctx, client, address); err != nil {
		return err
	}
	for _, path := range overview {
		ref, err := url.Parse(path)
		if err != nil {
			return err
		}
		if err := ask(ctx, client, base.ResolveReference(ref).String()); err != nil {
			return err
		}
	}
	return nil
}
