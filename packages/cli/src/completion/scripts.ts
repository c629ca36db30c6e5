/** The scripts that connect the shells with `holt __complete`. */

/** Names may contain spaces, so bash gets them quoted. */
const bash = `_holt() {
  local line words=() begun="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  # Bash splits words at colons and equals signs; the line up to the cursor is what holt needs.
  words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  while IFS=$'\\t' read -r line _; do
    [ -n "$line" ] && COMPREPLY+=("$(printf %q "$line")")
  done < <(holt __complete "\${words[@]}" 2>/dev/null)
}
complete -o default -F _holt holt
`;

const zsh = `#compdef holt
_holt() {
  local -a candidates
  local text help
  while IFS=$'\\t' read -r text help; do
    [[ -n $text ]] && candidates+=("\${text//:/\\\\:}:$help")
  done < <(holt __complete "\${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)
  _describe 'holt' candidates
}
compdef _holt holt
`;

const fish = `function __holt_complete
    set -l words (commandline -opc) (commandline -ct)
    holt __complete $words[2..-1] 2>/dev/null
end
complete -c holt -f -a '(__holt_complete)'
`;

/** PowerShell up to 7.2 drops empty arguments, so a command of its own begins the next word. */
const powershell = `Register-ArgumentCompleter -Native -CommandName holt -ScriptBlock {
  param($begun, $line, $cursor)
  $words = @($line.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.StartOffset -lt $cursor } | ForEach-Object {
    if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.ToString() }
  })
  $complete = if ($begun -eq '') { '__complete-next' } else { '__complete' }
  holt $complete @words 2>$null | ForEach-Object {
    $text, $help = $_ -split "\`t", 2
    $shown = if ($help) { $help } else { $text }
    $quoted = if ($text -match '^[\\w./:=+-]+$') { $text } else { "'" + ($text -replace "'", "''") + "'" }
    [System.Management.Automation.CompletionResult]::new($quoted, $text, 'ParameterValue', $shown)
  }
}
`;

export const completionScripts: Readonly<Record<string, string>> = { bash, zsh, fish, powershell };
