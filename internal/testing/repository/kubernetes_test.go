package repository_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"example.com/seckill/internal/config"
)

const manifests = "deploy/kubernetes"

// manifest is one document of a file in deploy/kubernetes.
type manifest struct {
	file  string
	value map[string]any
}

// kubernetesManifests returns the documents of every file except the kustomization.
func kubernetesManifests(t *testing.T) (all []manifest) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, manifests, "*.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		name := filepath.Base(file)
		if name == "kustomization.yaml" {
			continue
		}
		decoder := yaml.NewDecoder(strings.NewReader(read(t, filepath.Join(manifests, name))))
		for {
			var value map[string]any
			err := decoder.Decode(&value)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
			all = append(all, manifest{name, value})
		}
	}
	require.Greater(t, len(all), 7)
	return all
}

// kubernetesSchema validates manifests. Its definitions are those of api/openapi-spec/swagger.json in the module
// k8s.io/kubernetes v1.34.1 that the manifests need, without the descriptions.
type kubernetesSchema struct {
	compiler *jsonschema.Compiler
	names    map[string]string // by apiVersion and kind
}

const definitions = "kubernetes-1.34.json"

func newKubernetesSchema(t *testing.T) kubernetesSchema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", definitions))
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	s := kubernetesSchema{jsonschema.NewCompiler(), map[string]string{}}
	all := document.(map[string]any)["definitions"].(map[string]any) //nolint:forcetypeassert // the file of testdata
	for name, definition := range all {
		makeStrict(definition)
		kinds, _ := definition.(map[string]any)["x-kubernetes-group-version-kind"].([]any) //nolint:forcetypeassert // the file of testdata
		for _, kind := range kinds {
			of := kind.(map[string]any) //nolint:forcetypeassert // the file of testdata
			s.names[strings.TrimPrefix(fmt.Sprintf("%v/%v %v", of["group"], of["version"], of["kind"]), "/")] = name
		}
	}
	require.NoError(t, s.compiler.AddResource(definitions, document))
	return s
}

// makeStrict lets a schema reject unknown fields, as kubectl does. A field that is an integer or a string is described
// as a string, with a format.
func makeStrict(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		if _, isObject := schema["properties"].(map[string]any); isObject && schema["type"] == "object" {
			schema["additionalProperties"] = false
		}
		if schema["format"] == "int-or-string" {
			schema["type"] = []any{"integer", "string"}
		}
		for _, value := range schema {
			makeStrict(value)
		}
	case []any:
		for _, value := range schema {
			makeStrict(value)
		}
	}
}

func (s kubernetesSchema) check(value map[string]any) error {
	of := fmt.Sprintf("%v %v", value["apiVersion"], value["kind"])
	name, known := s.names[of]
	if !known {
		return fmt.Errorf("testdata/%s has no definition of %q", definitions, of)
	}
	schema, err := s.compiler.Compile(definitions + "#/definitions/" + name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(instance)
}

func TestKubernetes_Manifests_AreValid(t *testing.T) {
	t.Parallel()
	schema := newKubernetesSchema(t)
	for _, m := range kubernetesManifests(t) {
		assert.NoError(t, schema.check(m.value), m.file)
	}
}

// Each change is a mistake that the API server would reject, or would ignore in silence.
func TestKubernetesSchema_WrongManifests_AreErrors(t *testing.T) {
	t.Parallel()
	schema, text := newKubernetesSchema(t), read(t, manifests+"/deployment.yaml")
	for change, want := range map[[2]string]string{
		{"replicas: 3", "replica: 3"}:                             "replica",
		{"replicas: 3", `replicas: "3"`}:                          "want integer",
		{"periodSeconds: 10", "periodSecond: 10"}:                 "periodSecond",
		{"readOnlyRootFilesystem: true", "readOnlyRoot: true"}:    "readOnlyRoot",
		{"port: admin}", "port: 6.5}"}:                            "got number",
		{"args: [serve,", "args: [1,"}:                            "want string",
		{"- name: seckill\n          image", "- image"}:           "missing property 'name'",
		{"  selector:\n    matchLabels", "  selectors:\n    all"}: "missing property 'selector'",
		{"apiVersion: apps/v1", "apiVersion: apps/v2"}:            "no definition",
	} {
		require.Contains(t, text, change[0])
		var value map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, change[0], change[1])), &value), change)
		require.ErrorContains(t, schema.check(value), want, "%q", change)
	}
}

func TestKubernetes_Kustomization_HasEveryManifestExceptTheExample(t *testing.T) {
	t.Parallel()
	var kustomization struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Namespace  string
		Resources  []string
		Images     []struct {
			Name    string
			NewName string `yaml:"newName"`
			NewTag  string `yaml:"newTag"`
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, manifests+"/kustomization.yaml")))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&kustomization))
	require.Equal(t, "Kustomization", kustomization.Kind)
	files := map[string]bool{}
	for _, m := range kubernetesManifests(t) {
		files[m.file] = true
		if m.value["kind"] != "Namespace" {
			require.Equal(t, kustomization.Namespace, m.value["metadata"].(map[string]any)["namespace"], m.file) //nolint:forcetypeassert // valid
		}
	}
	require.True(t, files["secret.example.yaml"])
	delete(files, "secret.example.yaml")
	require.ElementsMatch(t, slices.Collect(maps.Keys(files)), kustomization.Resources)
	require.Len(t, kustomization.Images, 1)
	require.Equal(t, podOf(t, "Deployment").Spec.Containers[0].Image, kustomization.Images[0].Name)
}

// workload is the part of a Deployment or a Job that repeats the configuration.
type workload struct {
	Spec struct {
		Replicas int
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template pod
	}
}

type pod struct {
	Metadata struct{ Labels map[string]string }
	Spec     struct {
		Grace    float64 `yaml:"terminationGracePeriodSeconds"`
		Security struct {
			User  int `yaml:"runAsUser"`
			Group int `yaml:"runAsGroup"`
		} `yaml:"securityContext"`
		Containers []struct {
			Image string
			Args  []string
			Env   []struct{ Name, Value string }
			Ports []struct {
				Name          string
				ContainerPort int `yaml:"containerPort"`
			}
			Startup   probe `yaml:"startupProbe"`
			Liveness  probe `yaml:"livenessProbe"`
			Readiness probe `yaml:"readinessProbe"`
			Resources struct {
				Limits map[string]string
			}
			Mounts []struct {
				Name      string
				MountPath string `yaml:"mountPath"`
			} `yaml:"volumeMounts"`
		}
		Volumes []volume
	}
}

type volume struct {
	Name   string
	Secret struct {
		Name string `yaml:"secretName"`
	}
	ConfigMap struct{ Name string } `yaml:"configMap"`
}

type probe struct {
	HTTPGet  struct{ Path, Port string } `yaml:"httpGet"`
	Period   int                         `yaml:"periodSeconds"`
	Failures int                         `yaml:"failureThreshold"`
}

// objectOf decodes the first manifest of a kind.
func objectOf[T any](t *testing.T, kind string) (object T) {
	t.Helper()
	for _, m := range kubernetesManifests(t) {
		if m.value["kind"] == kind {
			text, err := yaml.Marshal(m.value)
			require.NoError(t, err)
			require.NoError(t, yaml.Unmarshal(text, &object))
			return object
		}
	}
	require.Fail(t, "no manifest is a "+kind)
	return object
}

func podOf(t *testing.T, kind string) pod {
	t.Helper()
	return objectOf[workload](t, kind).Spec.Template
}

// kubernetesConfig returns the configuration of an instance in a pod. The values are those of its Secret.
func kubernetesConfig(t *testing.T, p pod, secrets map[string]string) (config.Config, error) {
	t.Helper()
	c, folder := p.Spec.Containers[0], t.TempDir()
	files := objectOf[struct{ Data map[string]string }](t, "ConfigMap").Data
	require.Len(t, files, 1)
	var environ []string
	mounted := map[string]string{}
	for _, m := range c.Mounts {
		mounted[m.Name] = m.MountPath
	}
	for _, v := range c.Env {
		key, isSecret := strings.CutPrefix(v.Value, mounted["secrets"]+"/")
		require.True(t, isSecret && strings.HasSuffix(v.Name, "_FILE"), v.Name)
		require.Contains(t, secrets, key, "secret.example.yaml lacks it")
		file := filepath.Join(folder, key)
		require.NoError(t, os.WriteFile(file, []byte(secrets[key]), 0o600))
		environ = append(environ, v.Name+"="+file)
	}
	require.Len(t, environ, len(secrets), "each secret is read")
	require.Equal(t, "--config", c.Args[1])
	name, found := strings.CutPrefix(c.Args[2], mounted["config"]+"/")
	require.True(t, found)
	file := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(file, []byte(files[name]), 0o600))
	return config.Load(file, environ)
}

var goodSecrets = map[string]string{
	"auth-secret":    "5d41402abc4b2a76b9719d911017c592ae03f1c8e7d60b44",
	"mysql-dsn":      "seckill:0cc175b9c0f1b6a8@tcp(mysql.data.svc:3306)/seckill?timeout=1s&readTimeout=2s&writeTimeout=2s",
	"redis-password": "0cc175b9c0f1b6a831c399e269772661",
}

func TestKubernetes_Values_AreThoseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	set := objectOf[workload](t, "Deployment").Spec
	p := set.Template
	c := p.Spec.Containers[0]
	cfg, err := kubernetesConfig(t, p, goodSecrets)
	require.NoError(t, err)

	ports := map[string]int{}
	for _, port := range c.Ports {
		ports[port.Name] = port.ContainerPort
	}
	require.Equal(t, map[string]int{"http": portOf(t, cfg.HTTP.Addr), "admin": portOf(t, cfg.Admin.Addr)}, ports)
	require.Greater(t, p.Spec.Grace, (cfg.HTTP.DrainDelay + 2*cfg.HTTP.ShutdownTimeout).Seconds(), "a stop is cut off")
	require.Equal(t, "/healthz", c.Startup.HTTPGet.Path)
	require.Equal(t, "/healthz", c.Liveness.HTTPGet.Path)
	require.Equal(t, "/readyz", c.Readiness.HTTPGet.Path)
	for _, probe := range []probe{c.Startup, c.Liveness, c.Readiness} {
		require.Equal(t, "admin", probe.HTTPGet.Port)
	}
	require.Less(t, time.Duration(c.Readiness.Period*c.Readiness.Failures)*time.Second, cfg.HTTP.DrainDelay,
		"the Service stops sending while the instance still serves")
	for _, of := range []pod{p, podOf(t, "Job")} {
		require.Contains(t, read(t, "Dockerfile"), fmt.Sprintf("USER %d:%d\n", of.Spec.Security.User, of.Spec.Security.Group))
	}
	memory, found := strings.CutSuffix(c.Resources.Limits["memory"], "Mi")
	require.True(t, found)
	require.Contains(t, read(t, "docs/DEPLOY.md"), "Give a container "+memory+" MiB")

	require.Equal(t, 3, set.Replicas)
	budget := objectOf[struct {
		Spec struct {
			Max      int `yaml:"maxUnavailable"`
			Selector struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
		}
	}](t, "PodDisruptionBudget").Spec
	require.Less(t, budget.Max, set.Replicas)
	for _, labels := range []map[string]string{
		set.Selector.MatchLabels, budget.Selector.MatchLabels,
		objectOf[struct {
			Spec struct{ Selector map[string]string }
		}](t, "Service").Spec.Selector,
	} {
		require.Equal(t, p.Metadata.Labels, labels)
	}
}

func portOf(t *testing.T, addr string) (port int) {
	t.Helper()
	_, text, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	port, err = net.LookupPort("tcp", text)
	require.NoError(t, err)
	return port
}

func TestKubernetes_MigrateJob_HasTheImageAndConfigurationOfTheInstances(t *testing.T) {
	t.Parallel()
	job, instances := podOf(t, "Job"), podOf(t, "Deployment")
	require.NotEqual(t, instances.Metadata.Labels, job.Metadata.Labels, "the Service would send to it")
	c, of := job.Spec.Containers[0], instances.Spec.Containers[0]
	require.Equal(t, "migrate", c.Args[0])
	require.Equal(t, "serve", of.Args[0])
	require.Equal(t, of.Args[1:], c.Args[1:])
	require.Equal(t, of.Image, c.Image)
	require.Equal(t, of.Env, c.Env)
	require.Equal(t, of.Mounts, c.Mounts)
	require.Equal(t, instances.Spec.Volumes, job.Spec.Volumes)
}

func TestKubernetes_SecretExample_IsRejectedByTheProgram(t *testing.T) {
	t.Parallel()
	secret := objectOf[struct {
		Metadata struct{ Name string }
		Data     map[string]string `yaml:"stringData"`
	}](t, "Secret")
	p := podOf(t, "Deployment")
	_, err := kubernetesConfig(t, p, secret.Data)
	require.ErrorContains(t, err, "auth.secret")
	require.ErrorContains(t, err, "mysql.dsn")
	i := slices.IndexFunc(p.Spec.Volumes, func(v volume) bool { return v.Name == "secrets" })
	require.Equal(t, secret.Metadata.Name, p.Spec.Volumes[i].Secret.Name)
}
