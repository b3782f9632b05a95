package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// The engine is a shared library in a package of npm. The sum is that of the package.
const (
	enginePackage = "@chdb/lib-linux-x64-gnu@26.5.3"
	engineSum     = "b874e449710950da3abd7e20376f7bb3387d9e03adcc7082f022be18dfdf316a"
	engineFolder  = "chdb-26.5.3"
)

// library returns the name of the engine's file, which it fetches when it is not there yet.
func library() (string, error) {
	cache := os.Getenv("HONE_TEST_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding a folder for the engine: %w; HONE_TEST_CACHE names one", err)
		}
		cache = filepath.Join(user, "hone-test")
	}
	file := filepath.Join(cache, engineFolder, "libchdb.so")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := fetch(file); err != nil {
		return "", fmt.Errorf("fetching %s: %w", enginePackage, err)
	}
	return file, nil
}

// fetch gets the engine from npm. The file is there as a whole or not at all.
func fetch(file string) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, "fetch")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	npm := exec.Command("npm", "pack", enginePackage, "--pack-destination", tmp)
	npm.Dir, npm.Stderr = tmp, os.Stderr
	if err := npm.Run(); err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	packs, err := filepath.Glob(filepath.Join(tmp, "*.tgz"))
	if err != nil || len(packs) != 1 {
		return fmt.Errorf("npm pack left %q behind", packs)
	}
	f, err := os.Open(packs[0])
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != engineSum {
		return fmt.Errorf("its SHA-256 is %s, not %s", got, engineSum)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return unpack(f, filepath.Join(tmp, "libchdb.so"), file)
}

// unpack takes the library out of the package.
func unpack(pack io.Reader, tmp, file string) error {
	z, err := gzip.NewReader(pack)
	if err != nil {
		return err
	}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if err != nil {
			return fmt.Errorf("reading the package: %w", err)
		}
		if h.Name != "package/libchdb.so" {
			continue
		}
		out, err := os.Create(tmp)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, t)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
		return os.Rename(tmp, file)
	}
}
