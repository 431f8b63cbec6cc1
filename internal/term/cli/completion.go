package cli

import (
	"github.com/spf13/cobra"
)

// shells are the supported shells.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (p helpCommands) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", GroupID: "other", Short: "Print a completion script for bash, zsh, fish or PowerShell",
		Long: `Print a completion script for bash, zsh, fish or powershell. Tab then completes
commands, flags, sessions, keys, agents, models, formats and settings.

For this shell only, and for every new shell:

  bash         source <(firn completion bash)
               firn completion bash > ~/.local/share/bash-completion/completions/firn
  zsh          source <(firn completion zsh)
               firn completion zsh > ~/.zfunc/_firn
               (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  fish         firn completion fish | source
               firn completion fish > ~/.config/fish/completions/firn.fish
  powershell   firn completion powershell | Out-String | Invoke-Expression
               the same line in the file $PROFILE

bash needs the package bash-completion.`,
		Example:           "  source <(firn completion bash)",
		Args:              args(1, 1, "the name of a shell"),
		ValidArgsFunction: cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.stdout, true)
			case "zsh":
				return root.GenZshCompletion(p.stdout)
			case "fish":
				return root.GenFishCompletion(p.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.stdout)
			}
			return usage(cmd, "unknown shell %q; the shells are bash, zsh, fish and powershell", args[0])
		},
	}
}
