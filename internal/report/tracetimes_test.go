package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/query"
	"github.com/hone-perf/hone/internal/recording"
)

// TestTimeInOtherTraces holds that an answer about one of several traces names the rest of the time that was asked for.
func TestTimeInOtherTraces(t *testing.T) {
	list := []recording.TraceTime{{From: 1 * time.Second, To: 3 * time.Second, Read: true}, {From: 3100 * time.Millisecond, To: 6 * time.Second}, {From: 7 * time.Second, To: 9 * time.Second}}
	for _, test := range []struct {
		at   query.Span
		want []string
	}{
		{query.Span{}, []string{"", "", ""}},
		{query.Span{From: 2 * time.Second, To: 2 * time.Second}, []string{"", "", ""}},
		{query.Span{From: 2 * time.Second, To: 4 * time.Second}, []string{"", "3.1s..4s", ""}},
		{query.Span{From: 2 * time.Second}, []string{"", "3.1s..6s", "7s..9s"}},
	} {
		var got []string
		for _, x := range NewTraceTimes(list, test.at) {
			got = append(got, x.Asked)
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %q, want %q", test.at, got, test.want)
		}
	}
	note := fmt.Sprint(traceNote(NewTraceTimes(list, query.Span{From: 2 * time.Second, To: 4 * time.Second})))
	if want := "the rest of the time that you asked for is in others"; !strings.Contains(note, want) {
		t.Errorf("%s; want %q", note, want)
	}
}
