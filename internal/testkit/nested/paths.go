// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nested

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root returns the folder of the Holdfast checkout that the working directory is in.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		module, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && slices.Contains(strings.Split(string(module), "\n"), "module "+modulePath) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the checkout: %s is not in a checkout of %s", start, modulePath)
		}
	}
}

// Cache returns the folder for what is built once and kept, and makes it: HOLDFAST_CACHE, or holdfast in
// the user's cache folder.
func Cache() (string, error) {
	cache := os.Getenv(cacheVariable)
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache, which %s can name: %w", cacheVariable, err)
		}
		cache = filepath.Join(user, "holdfast")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("find the cache: %w", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("create the cache: %w", err)
	}
	return cache, nil
}

// Module is what a go.mod file says.
type Module struct {
	File string // its path
}

// Requires returns the version of another module that this one requires, such as v1.2.3, or an empty one
// if it requires none.
func (m *Module) Requires(path string) (string, error) {
	file, err := os.Open(m.File)
	if err != nil {
		return "", fmt.Errorf("read the version of %s: %w", path, err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] == path {
			return fields[1], nil
		}
	}
	return "", nil
}

// Digest is short, and another for each text: it names a folder in the cache.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
