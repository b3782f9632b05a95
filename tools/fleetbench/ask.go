package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// answered calls an address of the server n times, with a body or without, and returns the CPU time that one took, how long it took, and the last answer.
func (s *server) answered(n int, path string, ask []byte) (cpu, took time.Duration, text []byte, err error) {
	before, began := s.cpu(), time.Now()
	for range n {
		var resp *http.Response
		if ask == nil {
			resp, err = http.Get(s.url + path)
		} else {
			resp, err = http.Post(s.url+path, "application/json", bytes.NewReader(ask))
		}
		if err != nil {
			return 0, 0, nil, err
		}
		text, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s: %s", path, resp.Status, text)
		}
		if err != nil {
			return 0, 0, nil, err
		}
	}
	return (s.cpu() - before) / time.Duration(n), time.Since(began) / time.Duration(n), text, nil
}

// merged asks for a merged flame graph n times, and returns the CPU time of the server for one, how long one took, and its total.
func (s *server) merged(service, kind string, from, to time.Time, n int) (cpu, took time.Duration, total int64, err error) {
	types := map[string]string{
		"cpu":  "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		"heap": "memory:inuse_space:bytes:space:bytes",
	}
	ask, _ := json.Marshal(map[string]any{
		"profile_typeID": types[kind], "label_selector": `{service_name="` + service + `"}`, "start": from.UnixMilli(), "end": to.UnixMilli(), "max_nodes": 8192,
	})
	var text []byte
	cpu, took, text, err = s.answered(n, "/querier.v1.QuerierService/SelectMergeStacktraces", ask)
	if err != nil {
		return 0, 0, 0, err
	}
	var answer struct {
		Flamegraph struct{ Total json.Number }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, 0, 0, err
	}
	total, err = answer.Flamegraph.Total.Int64()
	return cpu, took, total, err
}

// tables measures the hottest functions of service-0 and its CPU time by hour. Each question is about a second more than the one before, because the server
// remembers what it answered.
func (b *bench) tables(s *server, what string, from, to time.Time) error {
	const rounds = 10
	top := func(to time.Time) (string, []byte) {
		ref := fmt.Sprintf("store:service-0@%s..%s", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
		return "/api/top?limit=30&ref=" + url.QueryEscape(ref), nil
	}
	series := func(to time.Time) (string, []byte) {
		ask, _ := json.Marshal(map[string]any{
			"profile_typeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "label_selector": `{service_name="service-0"}`,
			"start": from.UnixMilli(), "end": to.UnixMilli(), "step": 3600,
		})
		return "/querier.v1.QuerierService/SelectSeries", ask
	}
	for _, ask := range []struct {
		what string
		of   func(to time.Time) (string, []byte)
	}{{"the hottest 30 functions", top}, {"CPU time by hour", series}} {
		var cpu, took time.Duration
		for i := range rounds + 1 {
			path, body := ask.of(to.Add(time.Duration(i) * time.Second))
			c, t, _, err := s.answered(1, path, body)
			if err != nil {
				return err
			}
			if i > 0 { // the first reads what the others have
				cpu, took = cpu+c, took+t
			}
		}
		b.row(what+": "+ask.what, fmt.Sprintf("%.1f ms of CPU, %.1f ms", cpu.Seconds()*1e3/rounds, took.Seconds()*1e3/rounds), "", true)
	}
	return nil
}
