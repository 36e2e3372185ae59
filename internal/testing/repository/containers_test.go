package repository_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"example.com/seckill/internal/config"
)

// container is what the test looks at of a service.
type container struct {
	Image       string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	SecurityOpt []string `yaml:"security_opt"`
	Privileged  bool
	Pids        int    `yaml:"pids_limit"`
	Memory      string `yaml:"mem_limit"`
	CPUs        float64
	Ports       []string
	Volumes     []string
	Environment map[string]string
	Command     []string
	Healthcheck struct {
		Test    []string
		Disable bool
	}
	StopGrace string `yaml:"stop_grace_period"`
	Profiles  []string
	Restart   string
	DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
}

func containers(t *testing.T) map[string]container {
	t.Helper()
	var file struct{ Services map[string]container }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "docker-compose.yml")), &file))
	require.Greater(t, len(file.Services), 5)
	return file.Services
}

// substituted are the values that come from the environment.
var substituted = regexp.MustCompile(`\$\{([A-Z_]+):\?[^}]+\}`)

func TestContainers_Every_IsHardened(t *testing.T) {
	for name, c := range containers(t) {
		assert.True(t, c.ReadOnly || name == "zookeeper", "%s: read_only", name)
		assert.Equal(t, []string{"ALL"}, c.CapDrop, name)
		assert.Empty(t, c.CapAdd, name)
		assert.False(t, c.Privileged, name)
		assert.Contains(t, c.SecurityOpt, "no-new-privileges:true", name)
		assert.Positive(t, c.Pids, "%s: pids_limit", name)
		assert.NotEmpty(t, c.Memory, "%s: mem_limit", name)
		assert.Positive(t, c.CPUs, "%s: cpus", name)
		assert.True(t, c.Healthcheck.Disable && c.Restart == "no" || len(c.Healthcheck.Test) > 1, "%s: healthcheck", name)
		for _, port := range c.Ports {
			assert.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s: %s is for other machines too", name, port)
		}
		for _, volume := range c.Volumes {
			if strings.HasPrefix(volume, ".") {
				assert.True(t, strings.HasSuffix(volume, ":ro"), "%s: %s can be written", name, volume)
			}
		}
	}
}

func TestContainers_Secrets_ComeFromEnvironment(t *testing.T) {
	text := read(t, "docker-compose.yml")
	made := read(t, ".ci/secrets")
	for _, m := range substituted.FindAllStringSubmatch(text, -1) {
		assert.Contains(t, made, "\n"+m[1]+"=", "make up does not write it")
	}
	for name, c := range containers(t) {
		for variable, value := range c.Environment {
			if strings.Contains(variable, "PASSWORD") || strings.Contains(variable, "SECRET") || strings.Contains(variable, "REDISCLI_AUTH") {
				assert.Regexp(t, `^`+substituted.String()+`$`, value, "%s: %s has a value or a default of its own", name, variable)
			}
		}
	}
	assert.NotContains(t, read(t, "Dockerfile"), "SECKILL_AUTH__SECRET")
}

func TestContainers_Application_IsConfiguredAndScales(t *testing.T) {
	app := containers(t)["app"]
	environ := make([]string, 0, len(app.Environment))
	for name, value := range app.Environment {
		value = strings.TrimSuffix(value, "${"+name+":-}") // empty, unless the environment has it
		environ = append(environ, name+"="+substituted.ReplaceAllString(value, "5d41402abc4b2a76b9719d911017c592ae03f1c8e7d60b44"))
	}
	cfg, err := config.Load("", environ)
	require.NoError(t, err)
	require.Equal(t, []string{"CMD", "/seckill", "health"}, app.Healthcheck.Test)
	require.Equal(t, "${SECKILL_OTEL__ENDPOINT:-}", app.Environment["SECKILL_OTEL__ENDPOINT"], "one variable turns traces on")
	require.Contains(t, containers(t)["jaeger"].Ports, "127.0.0.1:4318:4318")
	for _, port := range app.Ports {
		require.Regexp(t, `^127\.0\.0\.1:\d+-\d+:\d+$`, port, "a fixed port is free for one of them only")
	}
	// What a stop may take, and a little.
	require.Equal(t, "40s", app.StopGrace)
	require.Less(t, cfg.HTTP.DrainDelay.Seconds()+2*cfg.HTTP.ShutdownTimeout.Seconds(), 40.0)
	require.Contains(t, read(t, "Dockerfile"), "-X $(go list -m)/internal/app.released=$VERSION", "the image knows its version")
}

func TestContainers_Redis_EvictsNothingAndNeedsPassword(t *testing.T) {
	for name, c := range containers(t) {
		if strings.HasPrefix(c.Image, "redis:") {
			command := strings.Join(c.Command, " ")
			for _, part := range []string{"--requirepass", "--maxmemory-policy noeviction", "--appendonly yes"} {
				assert.Contains(t, command, part, name)
			}
		}
	}
	require.True(t, slices.Contains(containers(t)["mysql"].Volumes, "./configs/mysql:/docker-entrypoint-initdb.d:ro"), "the lab's rights")
	require.Regexp(t, `(?m)^down:.*\n\tdocker compose --profile '\*' down$`, read(t, "Makefile"), "what profiles have started, too")
}

// Grafana opens on its welcome page unless the path is that of a mounted file.
func TestGrafana_HomePage_IsTheDashboard(t *testing.T) {
	grafana := containers(t)["grafana"]
	home := grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	require.NotEmpty(t, home)
	found := false
	for _, volume := range grafana.Volumes {
		from, to, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":")
		if name, inside := strings.CutPrefix(home, to+"/"); inside && strings.HasPrefix(from, "./") {
			found = true
			require.NotEmpty(t, read(t, filepath.Join(from, name)))
		}
	}
	require.True(t, found, "no volume has %s", home)
}

// A start of the application migrates and puts a coupon on sale before the instances serve. Compose waits for a
// container that ends only if another one depends on it.
func TestCompose_Application_StartsAfterMigrationAndSeed(t *testing.T) {
	all := containers(t)
	require.Equal(t, []string{"migrate"}, all["migrate"].Command)
	require.Equal(t, []string{"seed"}, all["seed"].Command)
	for before, after := range map[string]string{"migrate": "seed", "seed": "app"} {
		require.Equal(t, "service_completed_successfully", all[after].DependsOn[before].Condition, after)
		require.Equal(t, "no", all[before].Restart)
		require.Equal(t, all["app"].Profiles, all[before].Profiles)
		require.Equal(t, all["app"].Environment, all[before].Environment)
	}
	require.Contains(t, read(t, "docker-compose.yml"), "look at http://127.0.0.1:8080")
}
