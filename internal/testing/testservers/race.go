//go:build race

package testservers

const race = true
