package recording

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestKindOfFile holds which row of the table of kinds a file belongs to.
func TestKindOfFile(t *testing.T) {
	tests := []struct {
		file                            string
		name                            string
		stripped, plain, quiet, profile bool
	}{
		{file: MetricsFile, name: "metrics", stripped: true, plain: true, quiet: true},
		{file: GCFile, name: "gc", stripped: true, plain: true, quiet: true},
		{file: duelFile, name: "compare", stripped: true},
		{file: BenchFile, name: "bench", stripped: true},
		{file: LoadFile, name: "load", stripped: true},
		{file: "cpu/000000000-000001000.pb.gz", stripped: true, profile: true},
		{file: "why/0-old.pb.gz", stripped: true, profile: true},
		{file: "cpu/mine.pb.gz", profile: true},
		{file: TraceFile, name: "trace"},
		{file: "flight/1.out", name: "trace"},
		{file: OutputFile},
		{file: CodeFile, plain: true, quiet: true},
		{file: SourceIndex, plain: true, quiet: true},
		{file: "sources/0001.go", quiet: true},
		{file: "from-a-later-version"},
	}
	for _, test := range tests {
		k := kindOfFile(test.file)
		if k.Name != test.name || (k.strip != nil) != test.stripped || k.plain != test.plain || k.quiet != test.quiet || k.profile != test.profile {
			t.Errorf("kindOfFile(%q) = %q, stripped %t, plain %t, quiet %t, profile %t, want %+v", test.file, k.Name, k.strip != nil, k.plain, k.quiet, k.profile, test)
		}
	}
}

// TestPartIsReadOnce holds that a part is decoded once for all copies of a recording, and again when it could not be read.
func TestPartIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	if err := WriteManifest(dir, &Manifest{Format: Format}); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(LoadFile, "torn")
	put(MetricsFile, `{"t":1,"process/rss":5}`+"\n")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first, err := Metrics.Read(r)
	if err != nil || first == nil || !Metrics.Has(r) {
		t.Fatalf("Read = %v, %v, want metrics", first, err)
	}
	if again := Metrics.In(r.Named("another name")); again != first {
		t.Error("a copy of the recording has read the metrics anew")
	}
	if l, err := GC.Read(r); l != nil || err != nil || GC.Has(r) {
		t.Errorf("Read = %v, %v for a part that is not there", l, err)
	}
	if _, err := LoadRun.Read(r); err == nil || LoadRun.Has(r) || r.Check() == nil {
		t.Error("a damaged part was read")
	}
	put(LoadFile, `{"format":1}`)
	if l, err := LoadRun.Read(r); l == nil || err != nil {
		t.Errorf("after it was mended: %v, %v", l, err)
	}
}

// TestOf holds that a recording of a part that is in no file has that part and no other.
func TestOf(t *testing.T) {
	d := &Duel{Alpha: 0.5}
	r := Versions.Of("compare", d)
	if Versions.In(r) != d || !Versions.Has(r) || Metrics.In(r) != nil || r.Ref != "compare" || r.Check() != nil {
		t.Errorf("%+v is not a recording of one duel", r)
	}
	if other := Versions.Of("compare", d); other.Key() == r.Key() {
		t.Errorf("two recordings have one key, %s", r.Key())
	}
}

// TestMissingWhy holds that notes about profiles that a duel lacks come in one order.
func TestMissingWhy(t *testing.T) {
	dir := t.TempDir()
	if err := WriteManifest(dir, &Manifest{Format: Format}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, duelFile), []byte(`{"why":[{},{}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 2 {
		for _, side := range []string{"old", "new"} {
			want = append(want, "the recording lacks "+whyFile(i, side))
		}
	}
	for range 20 { // maps come in another order each time
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		d, err := readDuel(r)
		r.Close()
		if err != nil || !slices.Equal(d.Notes, want) {
			t.Fatalf("notes %q, %v; want %q", d.Notes, err, want)
		}
	}
}
