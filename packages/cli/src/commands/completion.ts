/** holt completion: the completion script of a shell. */
import type { Verb } from "../command/verb.ts";
import { completionScripts } from "../completion/scripts.ts";
import { usageFailure } from "../failure.ts";

const shells = Object.keys(completionScripts);

export const verb: Verb = {
  path: "completion",
  summary: "Print the completion script of a shell.",
  description: "Completes commands, options, values, and the names of resources of the current context.",
  examples: [
    'eval "$(holt completion bash)"                                    # in ~/.bashrc',
    'eval "$(holt completion zsh)"                                     # in ~/.zshrc, after compinit',
    "holt completion fish > ~/.config/fish/completions/holt.fish",
    "holt completion powershell | Out-String | Invoke-Expression       # in $PROFILE",
  ],
  arguments: [{ name: "shell", values: shells, help: shells.join(", ") }],
  async run({ argument }) {
    const script = completionScripts[argument("shell")];
    if (script === undefined) throw usageFailure(`there is no completion for "${argument("shell")}"`, `use one of ${shells.join(", ")}`);
    process.stdout.write(script);
  },
};
