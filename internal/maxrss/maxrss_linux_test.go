package maxrss

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("MAXRSS_TEST_CHILD") != "" {
		fmt.Print(Own())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestOwnPeakExcludesParent: hone is often started by something large, such as an editor or a build server.
func TestOwnPeakExcludesParent(t *testing.T) {
	const large = 200 << 20
	room := make([]byte, large)
	for i := 0; i < len(room); i += 4096 {
		room[i] = 1
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MAXRSS_TEST_CHILD=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.ParseInt(string(out), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if parent := Own(); parent < large {
		t.Errorf("this process has touched %d bytes, and Own is %d", large, parent)
	}
	if child <= 0 || child >= large {
		t.Errorf("Own of a small program that a large one started is %d", child)
	}
	if said := Of(cmd.ProcessState); said < large {
		t.Logf("the kernel says %d of the child: it no longer begins with the memory of the parent", said)
	}
	_ = room[0]
}
