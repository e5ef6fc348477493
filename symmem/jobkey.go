package symmem

import (
	"crypto/sha256"
	"encoding/hex"
)

// hashedJob makes a job name of a launcher's own key, which may hold anything.
func hashedJob(launcher, key string) string {
	sum := sha256.Sum256([]byte(key))
	return launcher + "-" + hex.EncodeToString(sum[:8])
}
