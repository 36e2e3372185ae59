package e2e_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPress_ButtonMoves_PressesAgain holds the mouse of the tests: the button moves when the
// mouse comes, as where an answer comes late, and once only.
func TestPress_ButtonMoves_PressesAgain(t *testing.T) {
	t.Parallel()
	v := theBrowser(t).visit(t, "data:text/html,"+url.PathEscape(`<!doctype html><button>0</button><script>
		const button = document.querySelector("button")
		addEventListener("mousedown", () => { button.style.marginTop = "200px" }, {once: true})
		button.onclick = () => button.textContent++
	</script>`), look{language: "en"})
	v.click("button")
	assert.Equal(t, "1", v.text("button"))
	v.click("button")
	assert.Equal(t, "2", v.text("button"))
}
