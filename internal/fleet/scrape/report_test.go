package scrape

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestFailing checks what is said of targets that give no profiles: one row for each reason, what fails for longest first, and only those of the tenant.
func TestFailing(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	ago := func(m int) time.Time { return now.Add(-time.Duration(m) * time.Minute) }
	refused := &Error{Cause: "connect", Err: errors.New("connection refused")}
	down := func(kind string, since, good time.Time, err *Error) ProfileStatus {
		return ProfileStatus{Kind: kind, Health: Down, Since: since, Good: good, Err: err}
	}
	st := Status{
		Jobs: []JobStatus{
			{Job: "a", Tenant: "default", Found: 3, Wrong: 1, Err: &Error{Err: errors.New("no port")}, Over: 1},
			{Job: "b", Tenant: "default", Sources: []Source{{What: "targets/*.json", Looked: now}, {What: "not looked yet"}, {What: "dns", Err: &Error{Err: errors.New("no such host")}}}},
			{Job: "c", Tenant: "other", Sources: []Source{{What: "x", Looked: now}}},
		},
		Targets: []TargetStatus{
			{Job: "a", Tenant: "default", Address: "http://1", Profiles: []ProfileStatus{down("cpu", ago(5), ago(6), refused), down("heap", ago(4), ago(5), refused)}},
			{Job: "a", Tenant: "default", Address: "http://2", Profiles: []ProfileStatus{
				{Kind: "cpu", Health: Up}, down("heap", ago(9), time.Time{}, &Error{Cause: CauseStatus, Status: 404, Err: errors.New("HTTP 404 Not Found")}),
				{Kind: "mutex", Health: Up, Refused: &Error{Err: errors.New("too large")}},
			}},
			{Job: "a", Tenant: "default", Address: "http://3", Profiles: []ProfileStatus{{Kind: "cpu", Health: Up}, down("heap", time.Time{}, ago(1), &Error{Cause: CauseBusy, Err: errors.New("busy")}), {Kind: "mutex", Health: Unknown}}},
			{Job: "c", Tenant: "other", Address: "http://4", Profiles: []ProfileStatus{down("cpu", ago(5), ago(6), refused)}},
		},
	}
	got := st.Failing("default", now)
	var text strings.Builder
	for _, r := range got.Rows {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(b, '\n'))
	}
	for _, j := range got.Jobs {
		text.WriteString(j.Job + " " + j.Source + ": " + j.Why + "\n")
	}
	const want = `{"job":"a","service":"","address":"http://2","kinds":["mutex"],"why":"the store refuses the profile: too large"}
{"job":"a","service":"","address":"http://2","kinds":["heap"],"since":"2026-09-01T11:51:00Z","why":"HTTP 404 Not Found"}
{"job":"a","service":"","address":"http://1","kinds":["cpu","heap"],"all":true,"since":"2026-09-01T11:55:00Z","good":"2026-09-01T11:55:00Z","why":"connection refused"}
a : 1 profile cannot be fetched: no port
a : target_limit leaves out 1 target
b targets/*.json: there are no targets
b dns: no such host
`
	if text.String() != want || got.Found != 3 || got.Failing != 2 {
		t.Errorf("%d of %d fail:\n%swant 2 of 3:\n%s", got.Failing, got.Found, text.String(), want)
	}
}
