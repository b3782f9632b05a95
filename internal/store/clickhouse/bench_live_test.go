//go:build live || nightly

package clickhouse

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hone-perf/hone/internal/store"
	"github.com/hone-perf/hone/internal/store/storetest"
)

// BenchmarkStore adds hours of a service whose profiles are as large as real ones, and adds them up.
func BenchmarkStore(b *testing.B) {
	f := storetest.Like117kB()
	f.Rounds = 240
	all := f.All()
	var bytes int64
	for _, u := range all {
		bytes += int64(len(u.Raw))
	}
	end := f.Start.Add(time.Duration(f.Rounds+1) * f.Every)
	s := openAt(b, anyServer(b).address, newDatabase(), func() time.Time { return end })
	defer s.Close()
	b.Run("add", func(b *testing.B) {
		b.SetBytes(bytes)
		cpu := cpuTimes(b)
		for n := 0; b.Loop(); n++ {
			tenant := "main"
			if n > 0 {
				tenant = strconv.Itoa(n)
			}
			for from := 0; from < len(all); from += 20 {
				if _, err := s.Add(b.Context(), tenant, copies(all[from:min(from+20, len(all))])); err != nil {
					b.Fatal(err)
				}
			}
		}
		cpu(len(all) * b.N)
		if err := s.db.exec(b.Context(), "OPTIMIZE TABLE "+s.table("samples")+" FINAL"); err != nil {
			b.Fatal(err)
		}
		var tables []string
		var sizes []uint64
		err := s.db.query(b.Context(), "SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active AND database = "+quote(s.database)+
			" GROUP BY table ORDER BY table", &tables, &sizes)
		if err != nil {
			b.Fatal(err)
		}
		for i, table := range tables {
			b.ReportMetric(float64(sizes[i])/float64(len(all)*b.N), "B/profile:"+table)
		}
		b.ReportMetric(float64(bytes)/float64(len(all)), "B/profile:sent")
	})
	for _, kind := range []string{"cpu", "heap"} {
		for name, from := range map[string]time.Time{"hour": end.Add(-time.Hour), "all": f.Start} {
			for _, sums := range []int{1, 1 << 30} {
				s.sumsFrom = sums
				b.Run("merge/"+kind+"/"+name+map[int]string{1: "/sums", 1 << 30: "/samples"}[sums], func(b *testing.B) {
					cpu := cpuTimes(b)
					for b.Loop() {
						m, err := s.Merge(b.Context(), store.Query{Tenant: "main", Selector: store.Service("service-0"), Kind: kind, From: from, To: end})
						if err != nil {
							b.Fatal(err)
						}
						b.ReportMetric(float64(m.Profiles), "profiles")
						b.ReportMetric(float64(m.Profile.NumSamples()), "samples")
					}
					cpu(b.N)
				})
			}
		}
	}
}

// cpuTimes returns what reports the CPU time since then, of this process and of the server: this machine may be busy with others.
func cpuTimes(b *testing.B) func(n int) {
	read := func(pid string) float64 {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		user, _ := strconv.ParseFloat(fields[11], 64)
		system, _ := strconv.ParseFloat(fields[12], 64)
		return (user + system) * 10 // ms, of ticks of which there are 100 a second
	}
	server := strconv.Itoa(shared.process.Process.Pid)
	own, theirs := read("self"), read(server)
	return func(n int) {
		b.ReportMetric((read("self")-own)/float64(n), "client-ms/op")
		b.ReportMetric((read(server)-theirs)/float64(n), "server-ms/op")
	}
}
