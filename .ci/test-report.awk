# Reads `go test -v` of many packages: one line for a package that passed, all of
# its output for one that did not. A skipped test is a failure here.

/^ *--- SKIP/ { skipped[++skips] = $0 }

/^(ok  |FAIL|\?   )\t/ {
	if ($1 == "FAIL")
		printf "%s", output
	print
	fflush()
	output = ""
	next
}

{ output = output $0 "\n" }

END {
	printf "%s", output # of what did not come to its end
	if (skips == 0)
		exit 0
	print "skipped, and nothing may be:"
	for (i = 1; i <= skips; i++)
		print skipped[i]
	exit 1
}
