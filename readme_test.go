package symwin_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeShowsTheExchange: the README quotes a file; it must be the file.
func TestReadmeShowsTheExchange(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	file, err := os.ReadFile("examples/wordcount/exchange.go")
	require.NoError(t, err)
	require.Contains(t, string(readme), "```go\n"+string(file)+"```\n")
	require.LessOrEqual(t, strings.Count(string(file), "\n"), 60)
}
