package cli

// opener returns the command that opens a page in the user's browser. The command start of cmd.exe would need its
// own quotes around a URL with an ampersand.
func opener(url string) (program string, args []string) {
	return "rundll32", []string{"url.dll,FileProtocolHandler", url}
}
