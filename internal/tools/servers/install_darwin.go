package servers

// formulas are the formulas of Homebrew that hold the programs of Debian's packages, where the names differ.
var formulas = map[string]string{
	mariaDBPackage: "mariadb", redisPackage: "redis", "redis-tools": "redis", "etcd-server": "etcd",
	"zookeeperd": "zookeeper", "default-jre-headless": "openjdk",
}

// Install returns the command that installs the program.
func (e *MissingError) Install() string {
	if formula := formulas[e.Package]; formula != "" {
		return "brew install " + formula
	}
	return "brew install " + e.Package
}
