// Package web is the page: its files, and the styles that the lab's report shares with it.
package web

import "embed"

// Files are the files of the page.
//
//go:embed *.html *.js *.css *.svg *.txt
var Files embed.FS

// Colours is the page's style of colours, light and dark.
//
//go:embed colours.css
var Colours string

// Drawing is the style of the lab's drawings.
//
//go:embed drawing.css
var Drawing string
