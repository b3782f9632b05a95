package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hone-perf/hone/internal/store/storetest"
)

// A database is a ClickHouse that runs, of tools/chdb.
type database struct {
	address string
	cmd     *exec.Cmd
}

func (b *bench) startDatabase() (*database, error) {
	program := filepath.Join(b.dir, "chdb")
	build := exec.CommandContext(b.ctx, "go", "build", "-o", program, ".")
	build.Dir, build.Env, build.Stderr = filepath.Join("tools", "chdb"), append(os.Environ(), "CGO_ENABLED=0"), b.err
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building tools/chdb: %w", err)
	}
	db := &database{cmd: exec.CommandContext(b.ctx, program, "-data", filepath.Join(b.dir, "database"), "-listen", "127.0.0.1:0")}
	db.cmd.Stderr = b.err
	out, err := db.cmd.StdoutPipe()
	if err == nil {
		err = db.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	db.address = strings.TrimSpace(line)
	return db, err
}

func (db *database) stop() {
	db.cmd.Process.Kill() // its data go, too
	db.cmd.Wait()
}

// query runs a query and returns what it answers.
func (db *database) query(text string) (string, error) {
	resp, err := http.Post("http://"+db.address, "text/plain", strings.NewReader(text))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return string(bytes.TrimSpace(answer)), err
}

// clickhouse measures the same as for the folder with ClickHouse: a day of one service, and a month of one with a profile of each kind an hour.
func (b *bench) clickhouse() error {
	db, err := b.startDatabase()
	if err != nil {
		return err
	}
	defer db.stop()
	day := storetest.Like117kB()
	day.Rounds = b.rounds
	if err := b.inDatabase(db, "ClickHouse, steady", "day", day, func(s *server, what string) error {
		hour := day.Start.Truncate(time.Hour).Add(time.Hour)
		end := day.Start.Add(time.Duration(day.Rounds) * day.Every)
		for _, ask := range []struct {
			kind, what string
			from, to   time.Time
		}{
			{"cpu", "1 h", hour, hour.Add(time.Hour)},
			{"heap", "1 h", hour, hour.Add(time.Hour)},
			{"cpu", "all", day.Start.Add(-time.Minute), end},
			{"heap", "all", day.Start.Add(-time.Minute), end},
		} {
			if _, _, _, err := s.merged("service-0", ask.kind, ask.from, ask.to, 1); err != nil {
				return err
			}
			cpu, took, total, err := s.merged("service-0", ask.kind, ask.from, ask.to, 5)
			if err != nil {
				return err
			}
			rounds := int64(day.Rounds)
			if ask.what == "1 h" {
				rounds = int64(time.Hour / day.Every)
			}
			if want := int64(day.Ticks) * 10_000_000 * rounds; ask.kind == "cpu" && total != want {
				return fmt.Errorf("the total of %s is %d, want %d", ask.what, total, want)
			}
			b.row(fmt.Sprintf("%s: merged flame graph, %s of %s", what, ask.what, ask.kind), fmt.Sprintf("%.0f ms of CPU, %.0f ms", cpu.Seconds()*1e3, took.Seconds()*1e3), "", true)
		}
		return b.tables(s, what, day.Start.Add(-time.Minute), end)
	}); err != nil {
		return err
	}
	f := fleetOf(1, b.days*hours)
	return b.inDatabase(db, fmt.Sprintf("ClickHouse, one service × 5 kinds, %d days", b.days), "month", f, func(s *server, what string) error {
		from, to := f.Start.Add(-time.Minute), f.Start.AddDate(0, 0, b.days)
		if err := b.first(s, what, from, to, 0); err != nil {
			return err
		}
		return b.tables(s, what, from, to)
	})
}

// inDatabase sends a fleet to a database of that name, and asks. CPU times are those of hone and of the database together.
func (b *bench) inDatabase(db *database, what, name string, f storetest.Fleet, ask func(s *server, what string) error) (err error) {
	if _, err := db.query("CREATE DATABASE IF NOT EXISTS " + name); err != nil {
		return err
	}
	s, err := b.start(name, "--store", "clickhouse://"+db.address+"/"+name+"?keep=0&hours=0&days=0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	own, theirs := s.cpu(), used(db.cmd.Process.Pid)
	profiles, size, err := b.send(s, f.Uploads, 16)
	if err != nil {
		return err
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(profiles) }
	b.row(what+": receive over HTTP", fmt.Sprintf("%.1f ms of CPU a profile of %.0f kB in hone, %.1f ms in the database", each(s.cpu()-own), float64(size)/1e3/float64(profiles), each(used(db.cmd.Process.Pid)-theirs)), "", true)
	s.with = db.cmd.Process.Pid
	if err := ask(s, what); err != nil {
		return err
	}
	for _, t := range []struct{ what, tables string }{
		{"bytes of single profiles and names", "'profiles', 'streams', 'samples', 'stacks', 'frames', 'sets', 'heads'"},
		{"bytes of sums", "'samples_hour', 'samples_day'"},
		{"bytes of profiles as they came in", "'received'"},
	} {
		text, err := db.query("SELECT toString(sum(bytes_on_disk)) FROM system.parts WHERE active AND database = '" + name + "' AND table IN (" + t.tables + ") FORMAT TSV")
		if err != nil {
			return err
		}
		n := 0.0
		if _, err := fmt.Sscan(text, &n); err != nil {
			return fmt.Errorf("the size of tables is %q", text)
		}
		b.row(what+": "+t.what, fmt.Sprintf("%s, %.3f of gzip", megabytes(int64(n)), n/float64(size)), "", true)
	}
	return nil
}
