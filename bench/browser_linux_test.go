package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
)

// browserLook is added to the page, which itself has no script: it tells what the
// reader would see.
const browserLook = `<script>addEventListener('load',()=>{
const shown=e=>e.getBoundingClientRect().width>0, svgs=[...document.querySelectorAll('svg')].filter(shown);
const heights=svgs.flatMap(s=>[...s.querySelectorAll('text')].map(t=>parseFloat(getComputedStyle(t).fontSize)*t.getScreenCTM().a));
parent.postMessage(JSON.stringify({width:innerWidth,scroll:document.documentElement.scrollWidth,
svgs:svgs.length,widest:Math.max(...svgs.map(s=>s.getBoundingClientRect().width)),letters:Math.min(...heights),
tables:[...document.querySelectorAll('table')].filter(shown).length,
ground:getComputedStyle(document.body).backgroundColor,line:getComputedStyle(svgs[0].querySelector('text')).fill,
fetched:performance.getEntriesByType('resource').length}),'*')})</script>`

// browserFrame shows the page in a frame, since no window is as narrow as a telephone.
const browserFrame = `<!DOCTYPE html><meta name="color-scheme" content="light dark"><iframe src="report.html" width="%d" height="900" style="border:0"></iframe>
<script>onmessage=e=>document.body.innerHTML='<pre>'+e.data+'</pre>'</script>`

// TestReportInABrowser opens the page at the widths of a telephone and of a wide
// screen, where there is chromium.
func TestReportInABrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium (Debian: apt-get install chromium)")
	}
	var b bytes.Buffer
	require.NoError(t, document(someParts(), time.Unix(0, 0)).Write(&b))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "report.html"), []byte(strings.Replace(b.String(), "</body>", browserLook+"</body>", 1)), 0o644))
	for _, c := range []struct {
		width  int
		flags  []string
		ground string
	}{
		{360, nil, "rgb(255, 255, 255)"},
		{1600, []string{"--blink-settings=preferredColorScheme=0"}, "rgb(22, 23, 26)"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
		defer cancel()
		frame := filepath.Join(dir, "frame.html")
		require.NoError(t, os.WriteFile(frame, fmt.Appendf(nil, browserFrame, c.width), 0o644))
		args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync",
			"--window-size=1700,1000", "--virtual-time-budget=10000", "--dump-dom"}, c.flags...)
		run := func() ([]byte, error) {
			return exec.CommandContext(ctx, chromium, append(args, "--user-data-dir="+t.TempDir(), "file://"+frame)...).Output()
		}
		out, err := run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && !exit.Exited() && ctx.Err() == nil { // on a busy machine chromium itself may crash
			out, err = run()
		}
		require.NoError(t, err)
		said := regexp.MustCompile(`<pre>(.*)</pre>`).FindSubmatch(out)
		require.NotNil(t, said, "%s", out)
		var page struct {
			Width, Scroll, SVGs, Tables, Fetched int
			Widest, Letters                      float64
			Ground, Line                         string
		}
		require.NoError(t, json.Unmarshal(said[1], &page))
		t.Logf("%s", said[1])
		require.Equal(t, c.width, page.Width)
		require.LessOrEqual(t, page.Scroll, c.width, "the page itself never scrolls sideways")
		require.LessOrEqual(t, page.Widest, float64(c.width), "nor does a drawing of two CPUs")
		require.Equal(t, 4, page.SVGs, "of each drawing the one for this width")
		require.Equal(t, 4, page.Tables)
		require.Greater(t, page.Letters, 10.0, "the smallest letters in a drawing, in pixels of their size, which no font changes")
		require.Equal(t, c.ground, page.Ground, "light or dark")
		require.NotEqual(t, page.Ground, page.Line)
		require.Zero(t, page.Fetched)
	}
}
