package capture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hone-perf/hone/internal/gocmd"
	"github.com/hone-perf/hone/internal/testrun"
)

// TestRecorderCompilesForOtherSystems holds that the recorder compiles as a part of the standard library of systems that these tests do not run
// on, and that its files there need nothing that a program does not have already. Compiling is all that can be held here.
func TestRecorderCompilesForOtherSystems(t *testing.T) {
	testrun.Nightly(t, "compiles net/http for other systems")
	about, err := gocmd.Command{Dir: "."}.About(t.Context())
	if err != nil {
		testrun.Missing(t, "%v", err)
	}
	for _, system := range []string{"darwin/arm64", "windows/386", "linux/arm", "freebsd/amd64"} {
		t.Run(system, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(system, "/")
			work := t.TempDir()
			command := gocmd.Command{Dir: ".", Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)}
			command, about, err := command.Replaceable(about, work)
			if err != nil {
				t.Fatal(err)
			}
			about.GOOS, about.GOARCH = goos, goarch
			replace := gocmd.Overlay{}
			if _, err := addAgent(about, "", work, true, replace); err != nil {
				t.Fatal(err)
			}
			overlay := filepath.Join(work, "overlay.json")
			if err := replace.Write(overlay); err != nil {
				t.Fatal(err)
			}
			if _, err := command.Run(t.Context(), "build", "-overlay="+overlay, agentPackage, "net/http"); err != nil {
				t.Error(err)
			}
		})
	}
}
