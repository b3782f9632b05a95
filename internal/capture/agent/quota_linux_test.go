package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limit of CPU time is the least of the control groups around the process, in both of their versions, and its group is the one that counts
// how often it was throttled.
func TestQuota(t *testing.T) {
	const usage = "usage_usec 5000000\nuser_usec 4000000\nsystem_usec 1000000\n"
	const counts2 = usage + "nr_periods 106\nnr_throttled 38\nthrottled_usec 1170000\nnr_bursts 0\nburst_usec 0\n"
	const counts1 = "nr_periods 106\nnr_throttled 38\nthrottled_time 1170000000\n"
	const line = `,"cgroup/periods":106,"cgroup/throttled-periods":38,"cgroup/throttled":1.17`
	for _, tt := range []struct {
		name   string
		groups string // as in /proc/PID/cgroup
		files  map[string]string
		cores  float64
		line   string
	}{
		{"no groups", "", nil, 0, ""},
		{"version 2, no limit", "0::/app\n", map[string]string{"app/cpu.max": "max 100000\n", "app/cpu.stat": usage}, 0, ""},
		{"version 2", "0::/app\n", map[string]string{"app/cpu.max": "50000 100000\n", "app/cpu.stat": counts2}, 0.5, line},
		{"version 2, in the group around it", "0::/pod/app\n", map[string]string{
			"pod/app/cpu.max": "max 100000\n", "pod/app/cpu.stat": usage, "pod/cpu.max": "150000 100000\n", "pod/cpu.stat": counts2,
		}, 1.5, line},
		{"version 2, the tighter of two", "0::/pod/app\n", map[string]string{
			"pod/app/cpu.max": "200000 100000\n", "pod/app/cpu.stat": usage, "pod/cpu.max": "25000 50000\n", "pod/cpu.stat": counts2,
		}, 0.5, line},
		{"version 2, in a container that does not see its path", "0::/../../outside\n", map[string]string{"cpu.max": "50000 100000\n", "cpu.stat": counts2}, 0.5, line},
		{"version 2, nothing counted", "0::/app\n", map[string]string{"app/cpu.max": "50000 100000\n", "app/cpu.stat": usage}, 0.5, ""},
		{"version 1", "4:memory:/app\n3:cpu,cpuacct:/app\n", map[string]string{
			"cpu/app/cpu.cfs_quota_us": "50000\n", "cpu/app/cpu.cfs_period_us": "100000\n", "cpu/app/cpu.stat": counts1,
		}, 0.5, line},
		{"version 1, no limit", "1:cpu:/app\n0::/\n", map[string]string{
			"cpu/app/cpu.cfs_quota_us": "-1\n", "cpu/app/cpu.cfs_period_us": "100000\n", "cpu/app/cpu.stat": counts1,
		}, 0, ""},
		{"nonsense", "0::/app\n", map[string]string{"app/cpu.max": "50000 0\n", "app/cpu.stat": counts2}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mount := t.TempDir()
			for name, text := range tt.files {
				file := filepath.Join(mount, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			p := Self()
			p.looked = true // at the groups of this test
			p.findQuota(tt.groups, mount)
			if got := p.Cores(); got != tt.cores {
				t.Errorf("it may use %g cores, want %g", got, tt.cores)
			}
			got := string(p.Append(nil))
			if tt.line == "" && strings.Contains(got, "throttled") || !strings.HasSuffix(got, tt.line) {
				t.Errorf("the line ends in %s, want %s", got, tt.line)
			}
		})
	}
}
