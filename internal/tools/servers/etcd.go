package servers

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
)

const etcdPackage = "etcd-server"

// Etcd is a cluster of one etcd without passwords, reachable from this machine
// only.
type Etcd struct {
	*Process
}

// StartEtcd starts an etcd with its data in dir, which is created if it does not exist; existing
// data is kept. ctx bounds the start, not the server's life. A program that is not installed is a
// *MissingError.
func StartEtcd(ctx context.Context, dir string, settings ...Setting) (*Etcd, error) {
	server, err := look("etcd", etcdPackage)
	if err != nil {
		return nil, err
	}
	if dir, err = folder(dir, "etcd"); err != nil {
		return nil, err
	}
	settings, _, secure := split(settings)
	return onFreePorts(ctx, 2, func(ports []int) (*Etcd, error) {
		securePort, err := tlsPort(ctx, secure)
		if err != nil {
			return nil, err
		}
		args, tlsAddr := etcdArgs(dir, addrOf(ports[0]), addrOf(ports[1]), settings), ""
		if secure != nil {
			tlsAddr = addrOf(securePort)
			urls := "http://" + addrOf(ports[0]) + ",https://" + tlsAddr
			args = append(args, "--listen-client-urls="+urls, "--advertise-client-urls="+urls)
			args = append(args, flags(secure.etcd())...)
		}
		e := &Etcd{&Process{
			path: server, args: args,
			addr: addrOf(ports[0]), tlsAddr: tlsAddr,
			log: filepath.Join(dir, "etcd.log"),
		}}
		e.ready = func(ctx context.Context, pid int) error {
			if err := listens(pid, e.Addr()); err != nil {
				return err
			}
			return e.healthy(ctx)
		}
		if err := e.start(ctx); err != nil {
			return nil, err
		}
		return e, nil
	})
}

func etcdArgs(dir, client, peer string, settings []Setting) []string {
	return append([]string{
		"--name=one",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=http://" + client,
		"--advertise-client-urls=http://" + client,
		"--listen-peer-urls=http://" + peer,
		"--initial-advertise-peer-urls=http://" + peer,
		"--initial-cluster=one=http://" + peer,
		"--log-level=error",
		"--logger=zap",
	}, flags(settings)...)
}

// healthy reports whether the server has a leader and commits.
func (e *Etcd) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a kept connection would end with the server
	var told struct {
		Health string `json:"health"`
	}
	if err := AskJSON(ctx, client, http.MethodGet, "http://"+e.Addr()+"/health", "", nil, &told); err != nil {
		return err
	}
	if told.Health != "true" {
		return errors.New("etcd is not healthy yet")
	}
	return nil
}
