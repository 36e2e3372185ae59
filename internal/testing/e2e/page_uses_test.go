package e2e_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/web"
)

// usesOf is a function of the page: of the names in some scripts it returns those that the browser provides, as
// [globals, members]. A name of the page's own that a browser knows for something else is among them.
const usesOf = `async (files) => {
	const provided = new Set(), globals = new Set();
	for (let at = globalThis; at; at = Object.getPrototypeOf(at)) Object.getOwnPropertyNames(at).forEach((name) => globals.add(name));
	const look = (of) => Object.getOwnPropertyNames(of).forEach((name) => provided.add(name));
	for (const name of globals) {
		const of = Object.getOwnPropertyDescriptor(globalThis, name)?.value ?? (/^[a-z]/.test(name) ? globalThis[name] : undefined);
		if (typeof of !== "function" && (typeof of !== "object" || of === null || of === globalThis)) continue;
		look(of);
		if (of.prototype) look(of.prototype);
	}
	look(Object.getPrototypeOf([].values())), look(CSSStyleDeclaration.prototype);
	const used = [new Set(), new Set()];
	for (const file of files) {
		const text = (await (await fetch(file)).text())
			.replace(/\/\*[^]*?\*\/|(^|\s)\/\/.*$/gm, " ").replace(/"(?:[^"\\\n]|\\.)*"/g, '""')
			.replace(/\.\.\.|\bwindow\??\./g, " ");
		for (const [, dot, name, colon] of text.matchAll(/(\.\s*|)([A-Za-z_$][\w$]*)(\s*:|)/g)) {
			if (dot ? provided.has(name) : !colon && globals.has(name)) used[dot ? 1 : 0].add(name);
		}
	}
	return used.map((names) => [...names].sort().join(" "));
}`

// A script that uses something else of a browser is red here: either the browsers that docs/TOUR.md names have
// it, and the name goes into the list, or TestPage_BrowserLacksAFeature_SellsWithoutIt gets a row.
func TestPage_Scripts_UseWhatTheListedBrowsersHave(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	names, err := fs.Glob(web.Files, "*.js")
	require.NoError(t, err)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "uplot.js" })
	v := b.open(t, shop.url, visitors[0])
	used := js[[]string](v, fmt.Sprintf(`(%s)(%q.split(" "))`, usesOf, strings.Join(names, " ")))
	for i, list := range []string{globals, members} {
		require.Greater(t, len(used[i]), len(list)/2, "the names are not found")
		known := strings.Fields(list)
		assert.Empty(t, slices.DeleteFunc(strings.Fields(used[i]), func(name string) bool { return slices.Contains(known, name) }), "not in the list")
	}
}

// globals are the names of the window that the scripts use, or that are words of their own.
const globals = `
	decodeURIComponent encodeURIComponent innerHeight scrollBy top
	CSS crypto matchMedia uPlot
	AbortController Array Boolean DOMParser Date EventSource Headers Infinity JSON Map Math Number Object Promise Set
	String SyntaxError URL URLSearchParams Uint8Array addEventListener atob clearTimeout close decodeURIComponent document
	encodeURIComponent event fetch
	focus getComputedStyle history location name navigator open performance setInterval setTimeout undefined window
`

// members are the names after a dot that the scripts use of what the browser provides, or of their own objects.
const members = `
	bottom getBoundingClientRect top
	CLOSED a abort abs activeElement add addEventListener after all altKey append appendChild assign at axis backgroundColor
	body borderTopColor c ceil childElementCount children classList className clientWidth close code color committed contains
	click createElement createObjectURL createTextNode ctrlKey data dataset delete destroy detail disabled display documentElement e
	download entries error event features filename fill fillRect fillStyle fillText filter find firstElementChild flatMap floor focus font fontFamily forEach get
	getAttribute getContext getElementById getPropertyValue getRandomValues getTime getTimezoneOffset group has hasAttribute
	hash headers height hidden host href id includes indexOf isNaN join json key keys kind label lang language
	lastElementChild lastIndexOf left length line list loaded loading location lost map match matches max measureText message
	metaKey min minWidth name now number onLine origin padStart parse parseFromString pathname placeholder position
	preventDefault protocol push querySelector querySelectorAll race random readyState reason reduce remove
	removeAttribute replace replaceChildren replaceState request revokeObjectURL right role round scrollIntoView search set
	setAttribute setData shift sign signal slice some splice split src startsWith state status step stringify style
	sub supports tagName target test text textContent title toISOString toLocaleString toLocaleTimeString
	toBlob toDataURL toLowerCase toString toUpperCase toggle token total trim type value view width
`
