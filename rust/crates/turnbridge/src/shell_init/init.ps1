# Turnbridge for PowerShell (5.1 or newer): tells when an agent starts in this pane and when the
# prompt is back, and where the shell is (OSC 9;9). Put this at the end of your $PROFILE:
#
#   turnbridge shell-init powershell | Out-String | Invoke-Expression
#
# A prompt starts no process unless an agent ran before it.

if ([Environment]::UserInteractive -and -not ([Environment]::GetCommandLineArgs() -like '-NonI*')) {

$global:__TurnbridgeProgram = @TURNBRIDGE@

function global:__TurnbridgeCall([string[]] $Arguments, [string] $Text) {
    $code = $global:LASTEXITCODE
    try { $Text | & $global:__TurnbridgeProgram @Arguments *> $null } catch { $global:LASTEXITCODE = 1 }
    $isDone = $global:LASTEXITCODE -eq 0
    $global:LASTEXITCODE = $code
    $isDone
}

# The line goes through stdin: PowerShell 5.1 loses quotes in arguments.
function global:__TurnbridgeLaunch([string] $Line) {
    if ($Line -match '(^|[\s;&|(/\\"''])(claude|codex)(\.exe|\.cmd|\.ps1)?($|[\s;&|)"''])') {
        if (__TurnbridgeCall @('pane', 'launch', '--syntax', 'powershell', '--line', '-') $Line) {
            $global:__TurnbridgeLaunched = $true
        }
    }
}

function global:__TurnbridgePrompt {
    if ($global:__TurnbridgeLaunched) {
        $global:__TurnbridgeLaunched = $false
        $null = __TurnbridgeCall @('pane', 'prompt') ''
    }
    $location = $executionContext.SessionState.Path.CurrentLocation
    if ($location.Provider.Name -eq 'FileSystem' -and -not [Console]::IsOutputRedirected) {
        $escape = [char] 27
        [Console]::Write("$escape]9;9;`"$($location.ProviderPath)`"$escape\")
    }
}

# Each is wrapped once, however often this runs.
if (-not (Test-Path variable:global:__TurnbridgeOldPrompt)) {
    $global:__TurnbridgeLaunched = $false
    $global:__TurnbridgeOldPrompt = $function:prompt
    function global:prompt {
        $isGood = $?
        $code = $global:LASTEXITCODE
        __TurnbridgePrompt
        $global:LASTEXITCODE = $code
        # So that the user's own prompt finds `$?` as it was.
        if (-not $isGood) { Write-Error 'x' -ErrorAction Ignore }
        & $global:__TurnbridgeOldPrompt
    }
    if (Test-Path function:PSConsoleHostReadLine) {
        $global:__TurnbridgeOldReadLine = $function:PSConsoleHostReadLine
        function global:PSConsoleHostReadLine {
            $line = & $global:__TurnbridgeOldReadLine
            __TurnbridgeLaunch $line
            $line
        }
    }
    $null = Register-EngineEvent -SourceIdentifier PowerShell.Exiting -SupportEvent -Action {
        if ($global:__TurnbridgeLaunched) { $null = __TurnbridgeCall @('pane', 'close') '' }
    }
}

}
