package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeWords offers the words that a flag takes, instead of files.
func completeWords(cmd *cobra.Command, flag string, words ...cobra.Completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is not there, or has its words already
	}
}

// completeNothing offers no files where a command, or a flag of it, takes none.
func completeNothing(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && cmd.Runnable() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, taken := cmd.GetFlagCompletionFunc(f.Name)
		if !taken && f.Annotations == nil && f.Value.Type() != "bool" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	})
	for _, one := range cmd.Commands() {
		completeNothing(one)
	}
}

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
