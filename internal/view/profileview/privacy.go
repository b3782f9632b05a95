package profileview

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hone-perf/hone/internal/order"
	"github.com/hone-perf/hone/internal/profile"
	"github.com/hone-perf/hone/internal/recording"
	"github.com/hone-perf/hone/internal/report"
	"github.com/hone-perf/hone/internal/secret"
)

// privacy lists the data in a recording that its recipients see, except measurements.
func privacy(r *recording.Recording) (report.Report, error) {
	c, err := r.Contents()
	if err != nil {
		return nil, err
	}
	out := &report.Privacy{Ref: r.Ref, Incomplete: c.More, Unread: c.Unread}
	users := map[string]bool{}
	see := func(texts ...string) {
		for _, t := range texts {
			for _, m := range homes().FindAllStringSubmatch(t, -1) {
				users[m[1]] = true
			}
		}
	}
	if m := r.Manifest; m != nil {
		out.Recording, out.KeepsSecrets, out.Stripped = true, m.KeepSecrets, m.Stripped
		out.Command, out.Target, out.Dir, out.Notes = m.Command, m.Target, m.Dir, m.Notes
		out.Machine, out.Program, out.Changes = m.Machine, m.Program, m.Changes
		see(m.Target, m.Dir)
		see(m.Command...)
		see(m.Notes...)
		if m.Program != nil {
			see(slices.Collect(maps.Values(m.Program.Settings))...)
			see(slices.Collect(maps.Values(m.Program.Env))...)
			see(m.Program.Path)
		}
	}
	folders := map[string]int{}
	for _, s := range c.Sources {
		from := cmp.Or(s.From, s.File)
		folders[path.Dir(strings.ReplaceAll(from, `\`, "/"))]++
		see(s.From, s.File)
	}
	out.Sources = foldersOf(folders)
	clear(folders)
	files, packages, modules := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for name, file := range c.Functions {
		if pkg := profile.PackageOf(name); pkg != "" && strings.Contains(strings.Split(pkg, "/")[0], ".") {
			packages[pkg] = true
		}
		if m := versioned().FindStringSubmatch(file); m != nil {
			modules[m[1]] = true
		}
		if !files[file] {
			files[file] = true
			folders[path.Dir(strings.ReplaceAll(file, `\`, "/"))]++
			see(file)
		}
	}
	out.Folders = foldersOf(folders)
	for key, l := range c.Labels {
		hidden := slices.Contains(l.Examples, secret.Mask)
		out.Labels = append(out.Labels, report.PrivacyLabel{Key: key, Values: l.N, Examples: l.Examples, Masked: hidden})
		see(l.Examples...)
	}
	order.Stable(out.Labels, func(a, b report.PrivacyLabel) int { return cmp.Compare(a.Key, b.Key) })
	for name, size := range c.Texts {
		out.Texts = append(out.Texts, report.PrivacyText{File: name, Bytes: size})
	}
	order.Stable(out.Texts, func(a, b report.PrivacyText) int { return cmp.Compare(a.File, b.File) })
	see(slices.Collect(maps.Keys(c.Programs))...)
	see(slices.Collect(maps.Keys(c.Comments))...)
	out.Numbers, out.Programs, out.Comments, out.URLs = sortedKeys(c.Numbers), sortedKeys(c.Programs), sortedKeys(c.Comments), sortedKeys(c.Docs)
	out.Users, out.Packages, out.Dependencies = sortedKeys(users), sortedKeys(packages), sortedKeys(modules)
	return out, nil
}

var (
	// homes are folders of users. Their names are in the paths of nearly everything that somebody built on his own machine.
	homes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[^\w.])(?:home|Users)[/\\]+([^/\\\s"':;,]+)`) })
	// versioned is a file of a module that was downloaded.
	versioned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|/pkg/mod/)([^/@]+\.[^@]*@v[^/]+)/`) })
)

func foldersOf(counts map[string]int) []report.PrivacyFolder {
	var out []report.PrivacyFolder
	for name, n := range counts {
		out = append(out, report.PrivacyFolder{Folder: name, Files: n})
	}
	order.Stable(out, func(a, b report.PrivacyFolder) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(a.Folder, b.Folder))
	})
	return out
}
