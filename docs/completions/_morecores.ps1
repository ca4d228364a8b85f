
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'morecores' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'morecores'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'morecores' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Measure a command on 1, 2, … n CPUs')
            [CompletionResult]::new('trace', 'trace', [CompletionResultType]::ParameterValue, 'Trace one run of a command, and say where its CPUs went')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show a study again, of a command or of locks, for people or for programs')
            [CompletionResult]::new('predict', 'predict', [CompletionResultType]::ParameterValue, 'Predict a command on more CPUs than were measured, or than there are')
            [CompletionResult]::new('what-if', 'what-if', [CompletionResultType]::ParameterValue, 'Say what would be gained if a lock, a command or a disk were not in the way')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Compare two studies: what changed, what caused it, and whether a condition holds')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Write a report page: one file with every picture and table, to be opened in a browser without a network')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Show the studies of a directory in a browser on this machine')
            [CompletionResult]::new('topology', 'topology', [CompletionResultType]::ParameterValue, 'Print the machine and which of its CPUs are usable')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Say what this machine can measure, how noisy it is, and what would help')
            [CompletionResult]::new('suite', 'suite', [CompletionResultType]::ParameterValue, 'Study the classic SMP benchmarks, and show each beside what was published of it')
            [CompletionResult]::new('locks', 'locks', [CompletionResultType]::ParameterValue, 'Measure locks: what each costs, and which to take when')
            [CompletionResult]::new('tune-spin', 'tune-spin', [CompletionResultType]::ParameterValue, 'Say how long a lock should spin on this machine before it sleeps, and how that was found')
            [CompletionResult]::new('work', 'work', [CompletionResultType]::ParameterValue, 'Run one of the built-in programs once')
            [CompletionResult]::new('generate', 'generate', [CompletionResultType]::ParameterValue, 'Write the man pages or a shell''s completions, from the same definitions as this help')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'morecores;run' {
            [CompletionResult]::new('--env', '--env', [CompletionResultType]::ParameterName, 'Set a variable for the command, `{n}` replaced in its value; NAME alone passes one on as it is')
            [CompletionResult]::new('--input', '--input', [CompletionResultType]::ParameterName, 'Standard input of the command; `-` is that of morecores. A pipe is read once, and every run gets a copy')
            [CompletionResult]::new('--input-limit', '--input-limit', [CompletionResultType]::ParameterName, 'Refuse input that can be read only once and holds more than this, for example 512M [default: 1G]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where the command''s output goes')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPU counts: numbers, ranges and `all` [default: every count up to 6; powers of two beyond]')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'How runs are held to their CPUs')
            [CompletionResult]::new('--placement', '--placement', [CompletionResultType]::ParameterName, 'In which order CPUs are added')
            [CompletionResult]::new('--cpu-list', '--cpu-list', [CompletionResultType]::ParameterName, 'Add the CPUs of this list, in this order')
            [CompletionResult]::new('--precision', '--precision', [CompletionResultType]::ParameterName, 'Stop when the 95% interval of every median is within this share of it; 0 never stops early [default: 1%]')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'At most this many runs of each CPU count [default: 30]')
            [CompletionResult]::new('--runs', '--runs', [CompletionResultType]::ParameterName, 'At most this many runs of each CPU count [default: 30]')
            [CompletionResult]::new('--min-runs', '--min-runs', [CompletionResultType]::ParameterName, 'At least this many runs of each CPU count; fewer than 6 bear no interval')
            [CompletionResult]::new('--max-time', '--max-time', [CompletionResultType]::ParameterName, 'End the study after this long, for example 90s or 10m, warm-up and traced runs included; 0: no limit [default: begin no run that is not expected to end within 5m]')
            [CompletionResult]::new('--warmup', '--warmup', [CompletionResultType]::ParameterName, 'Runs of each CPU count before those that count [default: 1, with --cold 0]')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'End a run after this long; it has then failed')
            [CompletionResult]::new('--success', '--success', [CompletionResultType]::ParameterName, 'Exit statuses of runs that count, for example 0,1 for a linter; death by a signal never does [default: 0]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the shuffle and of all resampling [default: from the clock]')
            [CompletionResult]::new('--setup', '--setup', [CompletionResultType]::ParameterName, 'Run this shell line once, before the first run')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Run this shell line before every run; `{n}` is replaced in it')
            [CompletionResult]::new('--cleanup', '--cleanup', [CompletionResultType]::ParameterName, 'Run this shell line once, after the last run')
            [CompletionResult]::new('--remount', '--remount', [CompletionResultType]::ParameterName, 'With --cold: also unmount and mount this file system before each run')
            [CompletionResult]::new('--metric', '--metric', [CompletionResultType]::ParameterName, 'Measure the number that the command prints instead of its time: a regular expression, its first group. Several, each with a name: the first decides, all are kept and shown')
            [CompletionResult]::new('--unit', '--unit', [CompletionResultType]::ParameterName, 'The number''s unit; NAME=TEXT is that of the metric of this name')
            [CompletionResult]::new('--decimal-mark', '--decimal-mark', [CompletionResultType]::ParameterName, 'What stands before the fraction of the command''s numbers [default: told from them; `1,234` alone is refused]')
            [CompletionResult]::new('--trace', '--trace', [CompletionResultType]::ParameterName, 'After the timed runs, trace one more of each CPU count, to say where the CPUs went [default: auto]')
            [CompletionResult]::new('--predict', '--predict', [CompletionResultType]::ParameterName, 'Also trace what predicts these CPU counts: the command told each of them, on the CPUs there are [default LIST: 2, 4 and 8 times the largest count]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to keep the study [default: NAME-DATE-TIME.study here]')
            [CompletionResult]::new('--study', '--study', [CompletionResultType]::ParameterName, 'Where to keep the study [default: NAME-DATE-TIME.study here]')
            [CompletionResult]::new('--shell', '--shell', [CompletionResultType]::ParameterName, 'Give the command''s words to `/bin/sh -c` as one line')
            [CompletionResult]::new('--thread-env', '--thread-env', [CompletionResultType]::ParameterName, 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and their like to the CPU count')
            [CompletionResult]::new('--expect-n', '--expect-n', [CompletionResultType]::ParameterName, 'Refuse to start where `{n}` is nowhere in the command')
            [CompletionResult]::new('--ignore-failure', '--ignore-failure', [CompletionResultType]::ParameterName, 'Go on after a run that fails, leave it out of every figure, and say how many there were')
            [CompletionResult]::new('--incremental', '--incremental', [CompletionResultType]::ParameterName, 'Go on where the first run leaves the later ones next to nothing to do, as a build does; without --prepare, what is measured then is an incremental build')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Leave processes alone that outlive the command')
            [CompletionResult]::new('--cold', '--cold', [CompletionResultType]::ParameterName, 'Write back and drop the page cache before each run (root)')
            [CompletionResult]::new('--lower-is-better', '--lower-is-better', [CompletionResultType]::ParameterName, 'The number is a cost, not a rate')
            [CompletionResult]::new('--syscalls', '--syscalls', [CompletionResultType]::ParameterName, 'Trace every system call with the file, pipe or process that it is about, not only those that block')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Go on with the study at -o; its command and plan hold, --runs, --precision, --max-time, --trace, --syscalls, --predict, --success, --ignore-failure and --incremental may differ; traces that are missing are made')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Every column of the table, every warning and every note')
            [CompletionResult]::new('--wide', '--wide', [CompletionResultType]::ParameterName, 'Every column of the table, every warning and every note')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;trace' {
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'What `{n}` becomes [default: the CPU count]')
            [CompletionResult]::new('--env', '--env', [CompletionResultType]::ParameterName, 'Set a variable for the command, `{n}` replaced in its value; NAME alone passes one on as it is')
            [CompletionResult]::new('--input', '--input', [CompletionResultType]::ParameterName, 'Standard input of the command; `-` is that of morecores')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where the command''s output goes')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Run this shell line before the run, untraced; `{n}` is replaced in it')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'End the run after this long; what it did until then is shown')
            [CompletionResult]::new('--success', '--success', [CompletionResultType]::ParameterName, 'Exit statuses with which the command has not failed [default: 0]')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'How many CPUs the run is allotted: a number or `all` [default: all usable]')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'How it is held to them')
            [CompletionResult]::new('--cpu-list', '--cpu-list', [CompletionResultType]::ParameterName, 'Which CPUs: the first ones of this list')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Keep the trace as a study there; `morecores show` shows it again')
            [CompletionResult]::new('--study', '--study', [CompletionResultType]::ParameterName, 'Keep the trace as a study there; `morecores show` shows it again')
            [CompletionResult]::new('--shell', '--shell', [CompletionResultType]::ParameterName, 'Give the command''s words to `/bin/sh -c` as one line')
            [CompletionResult]::new('--thread-env', '--thread-env', [CompletionResultType]::ParameterName, 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and their like to what `{n}` becomes')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Leave processes alone that outlive the command')
            [CompletionResult]::new('--syscalls', '--syscalls', [CompletionResultType]::ParameterName, 'Trace every system call with the file, pipe or process that it is about, not only those that block')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'The figures as JSON; their keys are described in docs/format.md')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;show' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'The derived view as JSON; its keys are described in docs/format.md')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'One row a CPU count; of locks one row a lock and contest')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'A table and the verdict, for a pull request or an issue')
            [CompletionResult]::new('--hyperfine-json', '--hyperfine-json', [CompletionResultType]::ParameterName, 'In the format of hyperfine --export-json, for scripts that read that')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Every column of the table, every warning and every note')
            [CompletionResult]::new('--wide', '--wide', [CompletionResultType]::ParameterName, 'Every column of the table, every warning and every note')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'morecores;predict' {
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPU counts to predict: numbers and ranges [default: those of `run --predict`, or 2, 4 and 8 times the largest measured]')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Measured counts that it may rest on [default: all]')
            [CompletionResult]::new('--price', '--price', [CompletionResultType]::ParameterName, 'Prices of machines by their CPUs, an hour: 2=0.10,16=0.80; adds what a run costs on each')
            [CompletionResult]::new('--memory', '--memory', [CompletionResultType]::ParameterName, 'Memory of the machines predicted: 64G [default: what the command had where it was measured]')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Also every model, and how far each was off when it was tested')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'As JSON; its keys are described in docs/format.md')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;what-if' {
            [CompletionResult]::new('--without', '--without', [CompletionResultType]::ParameterName, 'Without this: a lock by a part of its name, a command by its name, `disk`, `serial`')
            [CompletionResult]::new('--faster', '--faster', [CompletionResultType]::ParameterName, 'With this command so much faster: `ld=2x`')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'On how many CPUs: numbers and ranges [default: the largest measured count and what the traces bear]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'As JSON; its keys are described in docs/format.md')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;compare' {
            [CompletionResult]::new('--fail-if', '--fail-if', [CompletionResultType]::ParameterName, 'Exit with status 3 if this holds: a figure at a CPU count, <, <=, > or >=, and a number, or a share of BASE with %; may be given more than once. Figures are the keys of `show --json`: speedup@2, elapsed_s@2, idle_disk@2, traces.waiting_ratio@2')
            [CompletionResult]::new('--at-least', '--at-least', [CompletionResultType]::ParameterName, 'The smallest relative difference that is called one, in percent, besides noise')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Exit with status 3 also where a condition cannot be told: its interval lies on both sides, or there are too few runs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'As JSON; its keys are described in docs/format.md')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'For a comment on a pull request')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;report' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to write the page; `-` for standard output [default: report.html; no page with --plot]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Where to write the page; `-` for standard output [default: report.html; no page with --plot]')
            [CompletionResult]::new('--plot', '--plot', [CompletionResultType]::ParameterName, 'Draw the picture that FILE is called after, as SVG or PNG: `speedup.svg`, `make-stack.png`; may be given several times')
            [CompletionResult]::new('--picture', '--picture', [CompletionResultType]::ParameterName, 'Which picture --plot draws, whatever its file is called')
            [CompletionResult]::new('--width', '--width', [CompletionResultType]::ParameterName, 'Width of a picture in pixels; a PNG has twice as many, for sharp screens')
            [CompletionResult]::new('--axes', '--axes', [CompletionResultType]::ParameterName, 'Axes of a picture [default: logarithmic where the CPU counts reach to eight times the smallest]')
            [CompletionResult]::new('--dark', '--dark', [CompletionResultType]::ParameterName, 'Draw on a dark ground')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;serve' {
            [CompletionResult]::new('--port', '--port', [CompletionResultType]::ParameterName, 'The port to listen on; 0: any that is free')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;topology' {
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Write all that was read from the system to FILE (`-` for standard output), to be sent with a bug report')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Read such a recording instead of this machine')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'As JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;doctor' {
            [CompletionResult]::new('--quick', '--quick', [CompletionResultType]::ParameterName, 'Leave the measurement of noise out, which takes about ten seconds')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'As JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;suite' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to keep the studies [default: suite-DATE-TIME here]')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Where to keep the studies [default: suite-DATE-TIME here]')
            [CompletionResult]::new('--show', '--show', [CompletionResultType]::ParameterName, 'Run nothing; show the studies that are kept there')
            [CompletionResult]::new('--quick', '--quick', [CompletionResultType]::ParameterName, 'Short runs, six of each CPU count: all benchmarks within 3 minutes on a quiet machine with 2 CPUs [the default]')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Runs of seconds, until each median is known to 1% or for a minute and a half: an hour on 2 CPUs at most')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Go on with the suite at -o: benchmarks that have a whole study there are not run again')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'Name the benchmarks and what each is, and end')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'The tables in Markdown')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Everything derived from the studies as JSON; its keys are described in docs/format.md')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;locks' {
            [CompletionResult]::new('--lock', '--lock', [CompletionResultType]::ParameterName, 'Which locks, by name [default: all]')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Numbers of threads at the lock [default: powers of two up to twice the usable CPUs]')
            [CompletionResult]::new('--hold', '--hold', [CompletionResultType]::ParameterName, 'For how long the lock is held, with units [default: 0,100ns,1us,10us,100us; with --quick 0,1us,100us]')
            [CompletionResult]::new('--think', '--think', [CompletionResultType]::ParameterName, 'How long a thread stays away from the lock: times with units, or `hold`, as long as it held it [default: 0,hold]')
            [CompletionResult]::new('--rounds', '--rounds', [CompletionResultType]::ParameterName, 'How often each cell is measured; fewer than 6 bear no interval [default: 7; with --quick 6]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the shuffle [default: from the clock]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Where to keep the study [default: locks-DATE-TIME.study here]')
            [CompletionResult]::new('--study', '--study', [CompletionResultType]::ParameterName, 'Where to keep the study [default: locks-DATE-TIME.study here]')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Go on with this study; its plan holds, but --rounds may differ')
            [CompletionResult]::new('--quick', '--quick', [CompletionResultType]::ParameterName, 'Shorter contests, fewer of them: about a minute on 2 CPUs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'The derived view as JSON; its keys are described in docs/format.md')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'One row a CPU count; of locks one row a lock and contest')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'A table and the verdict, for a pull request or an issue')
            [CompletionResult]::new('--hyperfine-json', '--hyperfine-json', [CompletionResultType]::ParameterName, 'In the format of hyperfine --export-json, for scripts that read that')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Every figure with its interval, every warning and every note')
            [CompletionResult]::new('--wide', '--wide', [CompletionResultType]::ParameterName, 'Every figure with its interval, every warning and every note')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;tune-spin' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'As JSON, with every measurement')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;work' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;generate' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'One man page for morecores and one for each subcommand')
            [CompletionResult]::new('markdown', 'markdown', [CompletionResultType]::ParameterValue, 'The reference in Markdown')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Completions for every shell')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'morecores;generate;man' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'morecores;generate;markdown' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'morecores;generate;completions' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'morecores;generate;help' {
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'One man page for morecores and one for each subcommand')
            [CompletionResult]::new('markdown', 'markdown', [CompletionResultType]::ParameterValue, 'The reference in Markdown')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Completions for every shell')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'morecores;generate;help;man' {
            break
        }
        'morecores;generate;help;markdown' {
            break
        }
        'morecores;generate;help;completions' {
            break
        }
        'morecores;generate;help;help' {
            break
        }
        'morecores;help' {
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Measure a command on 1, 2, … n CPUs')
            [CompletionResult]::new('trace', 'trace', [CompletionResultType]::ParameterValue, 'Trace one run of a command, and say where its CPUs went')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show a study again, of a command or of locks, for people or for programs')
            [CompletionResult]::new('predict', 'predict', [CompletionResultType]::ParameterValue, 'Predict a command on more CPUs than were measured, or than there are')
            [CompletionResult]::new('what-if', 'what-if', [CompletionResultType]::ParameterValue, 'Say what would be gained if a lock, a command or a disk were not in the way')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Compare two studies: what changed, what caused it, and whether a condition holds')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Write a report page: one file with every picture and table, to be opened in a browser without a network')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Show the studies of a directory in a browser on this machine')
            [CompletionResult]::new('topology', 'topology', [CompletionResultType]::ParameterValue, 'Print the machine and which of its CPUs are usable')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Say what this machine can measure, how noisy it is, and what would help')
            [CompletionResult]::new('suite', 'suite', [CompletionResultType]::ParameterValue, 'Study the classic SMP benchmarks, and show each beside what was published of it')
            [CompletionResult]::new('locks', 'locks', [CompletionResultType]::ParameterValue, 'Measure locks: what each costs, and which to take when')
            [CompletionResult]::new('tune-spin', 'tune-spin', [CompletionResultType]::ParameterValue, 'Say how long a lock should spin on this machine before it sleeps, and how that was found')
            [CompletionResult]::new('work', 'work', [CompletionResultType]::ParameterValue, 'Run one of the built-in programs once')
            [CompletionResult]::new('generate', 'generate', [CompletionResultType]::ParameterValue, 'Write the man pages or a shell''s completions, from the same definitions as this help')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'morecores;help;run' {
            break
        }
        'morecores;help;trace' {
            break
        }
        'morecores;help;show' {
            break
        }
        'morecores;help;predict' {
            break
        }
        'morecores;help;what-if' {
            break
        }
        'morecores;help;compare' {
            break
        }
        'morecores;help;report' {
            break
        }
        'morecores;help;serve' {
            break
        }
        'morecores;help;topology' {
            break
        }
        'morecores;help;doctor' {
            break
        }
        'morecores;help;suite' {
            break
        }
        'morecores;help;locks' {
            break
        }
        'morecores;help;tune-spin' {
            break
        }
        'morecores;help;work' {
            break
        }
        'morecores;help;generate' {
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'One man page for morecores and one for each subcommand')
            [CompletionResult]::new('markdown', 'markdown', [CompletionResultType]::ParameterValue, 'The reference in Markdown')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Completions for every shell')
            break
        }
        'morecores;help;generate;man' {
            break
        }
        'morecores;help;generate;markdown' {
            break
        }
        'morecores;help;generate;completions' {
            break
        }
        'morecores;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
