//go:build !linux

package app

func adviseHugePages([]byte) {}
