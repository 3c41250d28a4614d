package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/content"
)

// HashFile returns the SHA-256 of a file in hexadecimal. The data folder caches the hash until the file changes.
func HashFile(ctx context.Context, path string) (string, error) {
	memory, err := HashesOf(path)
	if err != nil {
		return "", err
	}
	sum, err := content.HashFile(ctx, path, memory, func(done, total int64) { Report(ctx, "hashing "+path, done, total) })
	if err != nil {
		return "", err
	}
	return sum.String(), nil
}

// HashesOf returns the path of the file that caches the hashes of a file, or of the files below a folder. It returns ""
// if there is no data folder.
func HashesOf(path string) (string, error) {
	if Root() == "" {
		return "", nil
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(whole))
	return filepath.Join(Root(), "hashes", hex.EncodeToString(sum[:16])), nil
}
