package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// refuseOldFlags makes cmd refuse the flags of earlier versions, each with the name that
// it has now, and not accept them as aliases.
func refuseOldFlags(cmd *cobra.Command, renamed map[string]string) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			if now, ok := renamed[unknown.GetSpecifiedName()]; ok {
				return usage(fmt.Errorf("--%s is called --%s now", unknown.GetSpecifiedName(), now))
			}
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
}
