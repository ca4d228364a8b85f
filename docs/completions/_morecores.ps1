
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
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Measure a command on 1, 2, … n CPUs')
            [CompletionResult]::new('trace', 'trace', [CompletionResultType]::ParameterValue, 'Trace one run of a command and show where its CPUs went')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show a study of a command or of locks, or a search of `shake`, as text or for programs')
            [CompletionResult]::new('predict', 'predict', [CompletionResultType]::ParameterValue, 'Predict a command on more CPUs than were measured, or than exist here')
            [CompletionResult]::new('what-if', 'what-if', [CompletionResultType]::ParameterValue, 'Estimate the speedup from removing a lock or a disk wait, or from making a command faster')
            [CompletionResult]::new('advise', 'advise', [CompletionResultType]::ParameterValue, 'Say what would make a command faster on more CPUs, by its study')
            [CompletionResult]::new('events', 'events', [CompletionResultType]::ParameterValue, 'Print a traced run as a table, for pandas, DuckDB and other programs')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Write a traced run for a viewer of traces, a flame graph or pprof')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Compare two studies: what changed, what caused it, and whether a condition holds')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Write a report page: one file with every picture and table, for a browser without a network')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Show the studies of a directory in a browser on this machine')
            [CompletionResult]::new('topology', 'topology', [CompletionResultType]::ParameterValue, 'Show the CPUs of this machine and which of them are usable')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Report what this machine can measure, how noisy it is, and what would help')
            [CompletionResult]::new('suite', 'suite', [CompletionResultType]::ParameterValue, 'Study the classic SMP benchmarks and show each beside its published results')
            [CompletionResult]::new('locks', 'locks', [CompletionResultType]::ParameterValue, 'Measure the cost of locks, and advise which to use when')
            [CompletionResult]::new('tune-spin', 'tune-spin', [CompletionResultType]::ParameterValue, 'Show how long a lock should spin on this machine before it sleeps, with the measurements')
            [CompletionResult]::new('mark', 'mark', [CompletionResultType]::ParameterValue, 'Mark a program that works only on one CPU, or on a few')
            [CompletionResult]::new('launch', 'launch', [CompletionResultType]::ParameterValue, 'Start a program on as many CPUs as its mark allows')
            [CompletionResult]::new('generate', 'generate', [CompletionResultType]::ParameterValue, 'Write the man pages, the reference or the completions, from the definitions of this help')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'morecores;run' {
            [CompletionResult]::new('--env', '--env', [CompletionResultType]::ParameterName, 'Variable for the command, with `{n}` replaced in its value; NAME alone passes a variable on unchanged')
            [CompletionResult]::new('--input', '--input', [CompletionResultType]::ParameterName, 'File for the command''s standard input; `-` is the input of morecores. A pipe is read once, and every run gets a copy')
            [CompletionResult]::new('--input-limit', '--input-limit', [CompletionResultType]::ParameterName, 'Maximum size of input that can be read only once, for example 512M; larger input is refused [default: 1G]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Destination of the command''s output')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPU counts: numbers, ranges and `all` [default: every count up to 6; powers of two beyond; with --n or --quota: all]')
            [CompletionResult]::new('--n', '--n', [CompletionResultType]::ParameterName, 'Values of `{n}`: numbers and ranges; each is measured on each of the --cpus, by default on all CPUs alone [default: the CPU count]')
            [CompletionResult]::new('--tune', '--tune', [CompletionResultType]::ParameterName, 'Find the best of the values of --n with at most a quarter of the runs of all of them: each round leaves out values that are shown to be worse [default with it: --runs 12, --precision 2%]')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Mechanism that holds runs to their CPUs')
            [CompletionResult]::new('--quota', '--quota', [CompletionResultType]::ParameterName, 'Limits of CPU time to measure, in CPUs as for containers (0.5,1,1.5,2) or in thousandths (500m,1000m); with --limit quota, by default on all CPUs alone')
            [CompletionResult]::new('--placement', '--placement', [CompletionResultType]::ParameterName, 'Order in which CPUs are added')
            [CompletionResult]::new('--cpu-list', '--cpu-list', [CompletionResultType]::ParameterName, 'CPUs to add, in this order')
            [CompletionResult]::new('--precision', '--precision', [CompletionResultType]::ParameterName, 'Stop when the 95% interval of every speedup is within this percentage of the speedup (with one CPU count: of the median); 0 never stops early [default: stop when the answer stands, a yes with 3.3%; 1% with one CPU count]')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Maximum runs of each CPU count; given alone, stop at the default precision whatever the answer [default: 30]')
            [CompletionResult]::new('--runs', '--runs', [CompletionResultType]::ParameterName, 'Maximum runs of each CPU count; given alone, stop at the default precision whatever the answer [default: 30]')
            [CompletionResult]::new('--min-runs', '--min-runs', [CompletionResultType]::ParameterName, 'Minimum runs of each CPU count; with fewer than 6 runs no confidence interval is shown')
            [CompletionResult]::new('--max-time', '--max-time', [CompletionResultType]::ParameterName, 'Maximum time of the study with warm-up and traced runs, for example 90s or 10m; 0 sets no limit [default: begin only runs that are expected to end within 5m]')
            [CompletionResult]::new('--warmup', '--warmup', [CompletionResultType]::ParameterName, 'Warm-up runs of each CPU count before the timed runs [default: 1, with --cold 0]')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Maximum time of a run; a run that exceeds it is ended and has failed')
            [CompletionResult]::new('--success', '--success', [CompletionResultType]::ParameterName, 'Exit statuses of successful runs, for example 0,1 for a linter; death by a signal is never a success [default: 0]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the shuffle and of all resampling [default: from the clock]')
            [CompletionResult]::new('--setup', '--setup', [CompletionResultType]::ParameterName, 'Shell line to run once, before the first run')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Shell line to run before every run, with `{n}` replaced')
            [CompletionResult]::new('--cleanup', '--cleanup', [CompletionResultType]::ParameterName, 'Shell line to run once, after the last run')
            [CompletionResult]::new('--remount', '--remount', [CompletionResultType]::ParameterName, 'File system to unmount and mount before each run, with --cold')
            [CompletionResult]::new('--metric', '--metric', [CompletionResultType]::ParameterName, 'Regular expression for a printed number, to measure instead of the time; its first group is the number. Several metrics need names: the first one decides, all are kept and shown')
            [CompletionResult]::new('--unit', '--unit', [CompletionResultType]::ParameterName, 'Unit of the number; NAME=TEXT is the unit of the metric with this name')
            [CompletionResult]::new('--decimal-mark', '--decimal-mark', [CompletionResultType]::ParameterName, 'Decimal mark of the command''s numbers [default: determined from them; `1,234` alone is refused]')
            [CompletionResult]::new('--trace', '--trace', [CompletionResultType]::ParameterName, 'Trace further runs of each CPU count after the timed runs, to show where the CPUs went [default: auto]')
            [CompletionResult]::new('--traced-runs', '--traced-runs', [CompletionResultType]::ParameterName, 'Traced runs of each CPU count, in shuffled rounds [default: 3; 1 if a run takes more than 20 s, if the time is too short, or if the traces are large]')
            [CompletionResult]::new('--locks', '--locks', [CompletionResultType]::ParameterName, 'Holds of the command''s own locks to trace. `exact` counts each hold of a mutex or reader-writer lock of the C library, which makes each lock some microseconds slower, also for other programs that use the same library during the run')
            [CompletionResult]::new('--predict', '--predict', [CompletionResultType]::ParameterName, 'Also trace runs that predict these CPU counts: `{n}` becomes each count, on the existing CPUs [default LIST: 2, 4 and 8 times the largest count]')
            [CompletionResult]::new('--worth', '--worth', [CompletionResultType]::ParameterName, 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Directory of the study [default: NAME-DATE-TIME.study in the current directory]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Directory of the study [default: NAME-DATE-TIME.study in the current directory]')
            [CompletionResult]::new('--shell', '--shell', [CompletionResultType]::ParameterName, 'Pass the command''s words to `/bin/sh -c` as one line')
            [CompletionResult]::new('--thread-env', '--thread-env', [CompletionResultType]::ParameterName, 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and similar variables to the CPU count')
            [CompletionResult]::new('--expect-n', '--expect-n', [CompletionResultType]::ParameterName, 'Refuse to start if the command contains no `{n}`')
            [CompletionResult]::new('--weak', '--weak', [CompletionResultType]::ParameterName, 'Say that the work grows with `{n}`, as one input for each CPU: the answer is then about the work done in the same time (scaled speedup)')
            [CompletionResult]::new('--keep-disturbed', '--keep-disturbed', [CompletionResultType]::ParameterName, 'Count rounds that others disturbed, and do not repeat them. By default, a round is repeated if other programs or the hypervisor took more than a tenth of the CPUs'' time, at most as often as the plan has rounds')
            [CompletionResult]::new('--ignore-failure', '--ignore-failure', [CompletionResultType]::ParameterName, 'Continue after a failed run, leave it out of every figure, and report the number of failed runs')
            [CompletionResult]::new('--incremental', '--incremental', [CompletionResultType]::ParameterName, 'Measure an incremental build: continue even if the first run leaves almost no work for the later runs')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Do not end processes that outlive the command')
            [CompletionResult]::new('--cold', '--cold', [CompletionResultType]::ParameterName, 'Write back and drop the page cache before each run (root)')
            [CompletionResult]::new('--lower-is-better', '--lower-is-better', [CompletionResultType]::ParameterName, 'Treat the number as a cost, not as a rate')
            [CompletionResult]::new('--syscalls', '--syscalls', [CompletionResultType]::ParameterName, 'Trace every system call with its file, pipe or process, not only the blocking calls')
            [CompletionResult]::new('--debuginfod', '--debuginfod', [CompletionResultType]::ParameterName, 'Fetch debug files of stripped programs and libraries from the servers in DEBUGINFOD_URLS, by `debuginfod-find` and after each traced run, for the names of their functions')
            [CompletionResult]::new('--exit-answer', '--exit-answer', [CompletionResultType]::ParameterName, 'Exit with the answer as status: 0 yes, 3 no, 4 it cannot be told yet')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue the study at -o with its own command and plan. These options may differ: --runs, --precision, --keep-disturbed, --max-time, --trace, --traced-runs, --syscalls, --debuginfod, --predict, --success, --ignore-failure, --incremental and --worth. Missing traces are made')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Show every column of the table, every warning and every note')
            [CompletionResult]::new('--wide', '--wide', [CompletionResultType]::ParameterName, 'Show every column of the table, every warning and every note')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;trace' {
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Value of `{n}` [default: the CPU count]')
            [CompletionResult]::new('--env', '--env', [CompletionResultType]::ParameterName, 'Variable for the command, with `{n}` replaced in its value; NAME alone passes a variable on unchanged')
            [CompletionResult]::new('--input', '--input', [CompletionResultType]::ParameterName, 'File for the command''s standard input; `-` is the input of morecores')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Destination of the command''s output')
            [CompletionResult]::new('--prepare', '--prepare', [CompletionResultType]::ParameterName, 'Shell line to run before the run, untraced, with `{n}` replaced')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Maximum time of the run; a run that exceeds it is ended, and its trace so far is shown')
            [CompletionResult]::new('--success', '--success', [CompletionResultType]::ParameterName, 'Exit statuses of a successful run [default: 0]')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'Number of CPUs for the run, or `all` [default: all usable]')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Mechanism that holds the run to its CPUs')
            [CompletionResult]::new('--quota', '--quota', [CompletionResultType]::ParameterName, 'Limit of CPU time, in CPUs as for containers (1.5) or in thousandths (1500m); with --limit quota')
            [CompletionResult]::new('--cpu-list', '--cpu-list', [CompletionResultType]::ParameterName, 'CPUs for the run; it gets the first ones of this list')
            [CompletionResult]::new('--locks', '--locks', [CompletionResultType]::ParameterName, 'Holds of the command''s own locks to trace. `exact` counts each hold of a mutex or reader-writer lock of the C library, which makes each lock some microseconds slower, also for other programs that use the same library during the run')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Directory of a study that keeps the trace; `morecores show` shows it again')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Directory of a study that keeps the trace; `morecores show` shows it again')
            [CompletionResult]::new('--shell', '--shell', [CompletionResultType]::ParameterName, 'Pass the command''s words to `/bin/sh -c` as one line')
            [CompletionResult]::new('--thread-env', '--thread-env', [CompletionResultType]::ParameterName, 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and similar variables to the value of `{n}`')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Do not end processes that outlive the command')
            [CompletionResult]::new('--syscalls', '--syscalls', [CompletionResultType]::ParameterName, 'Trace every system call with its file, pipe or process, not only the blocking calls')
            [CompletionResult]::new('--debuginfod', '--debuginfod', [CompletionResultType]::ParameterName, 'Fetch debug files of stripped programs and libraries from the servers in DEBUGINFOD_URLS, by `debuginfod-find` and after the run, for the names of their functions')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the figures as JSON; docs/format.md describes their keys')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;show' {
            [CompletionResult]::new('--by', '--by', [CompletionResultType]::ParameterName, 'Show one division of the traced runs'' time in place of the whole report')
            [CompletionResult]::new('--worth', '--worth', [CompletionResultType]::ParameterName, 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the derived view as JSON; docs/format.md describes its keys')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'Print CSV: one row for each CPU count, or for each lock at each point of contention')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'Print a table and the verdict in Markdown, for a pull request or an issue')
            [CompletionResult]::new('--hyperfine-json', '--hyperfine-json', [CompletionResultType]::ParameterName, 'Print JSON in the format of hyperfine --export-json, for scripts that read this format')
            [CompletionResult]::new('--bencher', '--bencher', [CompletionResultType]::ParameterName, 'Print JSON for Bencher (bencher run --adapter json)')
            [CompletionResult]::new('--github-benchmark', '--github-benchmark', [CompletionResultType]::ParameterName, 'Print JSON for the GitHub action github-action-benchmark')
            [CompletionResult]::new('--openmetrics', '--openmetrics', [CompletionResultType]::ParameterName, 'Print text in the format of OpenMetrics, for Prometheus')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Show every column of the table, every warning and every note')
            [CompletionResult]::new('--wide', '--wide', [CompletionResultType]::ParameterName, 'Show every column of the table, every warning and every note')
            [CompletionResult]::new('--exit-answer', '--exit-answer', [CompletionResultType]::ParameterName, 'Exit with the answer as status: 0 yes, 3 no, 4 it cannot be told yet')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;predict' {
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPU counts to predict: numbers and ranges [default: those of `run --predict`, or 2, 4 and 8 times the largest measured count]')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Measured CPU counts to predict from [default: all]')
            [CompletionResult]::new('--price', '--price', [CompletionResultType]::ParameterName, 'Hourly prices of machines by CPU count: 2=0.10,16=0.80; the output then contains the cost of a run on each')
            [CompletionResult]::new('--memory', '--memory', [CompletionResultType]::ParameterName, 'Memory of the predicted machines, for example 64G [default: the memory that the measured command had]')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Also show every model and its error in the test')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON; docs/format.md describes its keys')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;what-if' {
            [CompletionResult]::new('--without', '--without', [CompletionResultType]::ParameterName, 'Obstacle to remove: a lock by a part of its name, a command by its name, `disk` or `serial`')
            [CompletionResult]::new('--faster', '--faster', [CompletionResultType]::ParameterName, 'Command to make faster, and the factor: `ld=2x`')
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'CPU counts: numbers and ranges [default: the largest measured count, and those that the traces support]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON; docs/format.md describes its keys')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;advise' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON; docs/format.md describes its keys')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;events' {
            [CompletionResult]::new('--trace', '--trace', [CompletionResultType]::ParameterName, 'Name of the trace: that of its file in STUDY/traces, without the ending [default: the shown one on the most CPUs]')
            [CompletionResult]::new('--where', '--where', [CompletionResultType]::ParameterName, 'Print only the rows of which a column has this value: COLUMN=VALUE, or with != < <= > >= (repeatable)')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'Print CSV with a header line [default]')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object per line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;export' {
            [CompletionResult]::new('--to', '--to', [CompletionResultType]::ParameterName, 'Format of the file')
            [CompletionResult]::new('--trace', '--trace', [CompletionResultType]::ParameterName, 'Name of the trace: that of its file in STUDY/traces, without the ending [default: the shown one on the most CPUs]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File to write; `-` is standard output [default: the name of the study and of the trace, in the current directory]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'File to write; `-` is standard output [default: the name of the study and of the trace, in the current directory]')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Replace the file if it exists')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;compare' {
            [CompletionResult]::new('--fail-if', '--fail-if', [CompletionResultType]::ParameterName, 'Condition for exit status 3 (repeatable): a figure at a CPU count, then <, <=, > or >=, then a number or, with %, a share of BASE. Figures are the keys of `show --json` that have an interval: speedup@2, elapsed_s@2, user_s@2, minor_faults@2. The whole interval must fulfil the condition, so that chance alone fulfils it in at most 2.5% of comparisons')
            [CompletionResult]::new('--at-least', '--at-least', [CompletionResultType]::ParameterName, 'Minimum relative change that counts as a difference, in percent; it must also exceed the noise')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Exit with status 3 also if a condition is undecided: its interval lies on both sides of the limit, or there are too few runs')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON; docs/format.md describes its keys')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'Print Markdown, for a comment on a pull request')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;report' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File of the page; `-` is standard output [default: report.html; no page with --plot]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'File of the page; `-` is standard output [default: report.html; no page with --plot]')
            [CompletionResult]::new('--worth', '--worth', [CompletionResultType]::ParameterName, 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]')
            [CompletionResult]::new('--plot', '--plot', [CompletionResultType]::ParameterName, 'Picture to draw as SVG or PNG (repeatable); the name of FILE selects it: `speedup.svg`, `make-stack.png`')
            [CompletionResult]::new('--picture', '--picture', [CompletionResultType]::ParameterName, 'Picture that --plot draws, whatever the name of its FILE')
            [CompletionResult]::new('--width', '--width', [CompletionResultType]::ParameterName, 'Width of a picture in pixels; a PNG has twice as many pixels, for sharp screens')
            [CompletionResult]::new('--axes', '--axes', [CompletionResultType]::ParameterName, 'Axes of a picture [default: logarithmic if the largest CPU count is at least eight times the smallest]')
            [CompletionResult]::new('--dark', '--dark', [CompletionResultType]::ParameterName, 'Draw on a dark background')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;serve' {
            [CompletionResult]::new('--port', '--port', [CompletionResultType]::ParameterName, 'Port to listen on; 0 chooses a free port')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;topology' {
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Write all data read from the system to FILE (`-` for standard output), for a bug report')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Read FILE, made by --record, instead of this machine')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;doctor' {
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write versions, findings and the last log to FILE for a bug report, without names of hosts, users and homes; `-` is standard output [default FILE: morecores-report.txt]')
            [CompletionResult]::new('--quick', '--quick', [CompletionResultType]::ParameterName, 'Skip the measurements of noise and memory, which take about twelve seconds')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;suite' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Directory of the studies [default: suite-DATE-TIME in the current directory]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Directory of the studies [default: suite-DATE-TIME in the current directory]')
            [CompletionResult]::new('--show', '--show', [CompletionResultType]::ParameterName, 'Directory of a suite to show; nothing is run')
            [CompletionResult]::new('--worth', '--worth', [CompletionResultType]::ParameterName, 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]')
            [CompletionResult]::new('--quick', '--quick', [CompletionResultType]::ParameterName, 'Make six short runs of each CPU count: all benchmarks within 3 minutes on a quiet machine with 2 CPUs [the default]')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Make runs of several seconds, until each speedup is known to 1% or for a minute and a half: at most an hour on 2 CPUs')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue the suite at -o; benchmarks with a complete study are not run again')
            [CompletionResult]::new('--list', '--list', [CompletionResultType]::ParameterName, 'List the benchmarks with their descriptions, and exit')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'Print the tables in Markdown')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print all derived figures as JSON; docs/format.md describes their keys')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;locks' {
            [CompletionResult]::new('--lock', '--lock', [CompletionResultType]::ParameterName, 'Names of the locks [default: all]')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Numbers of threads that use the lock [default: powers of two up to twice the usable CPUs]')
            [CompletionResult]::new('--hold', '--hold', [CompletionResultType]::ParameterName, 'Hold times of the lock, with units [default: 0,100ns,1us,10us,100us; with --quick 0,1us,100us]')
            [CompletionResult]::new('--think', '--think', [CompletionResultType]::ParameterName, 'Times that a thread spends away from the lock, with units; `hold` equals the hold time [default: 0,hold]')
            [CompletionResult]::new('-r', '-r', [CompletionResultType]::ParameterName, 'Number of rounds; with fewer than 6 rounds no confidence interval is shown [default: 7; with --quick 6]')
            [CompletionResult]::new('--runs', '--runs', [CompletionResultType]::ParameterName, 'Number of rounds; with fewer than 6 rounds no confidence interval is shown [default: 7; with --quick 6]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the shuffle [default: from the clock]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Directory of the study [default: locks-DATE-TIME.study in the current directory]')
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'Directory of the study [default: locks-DATE-TIME.study in the current directory]')
            [CompletionResult]::new('--quick', '--quick', [CompletionResultType]::ParameterName, 'Measure fewer cells for a shorter time: about a minute on 2 CPUs')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue the study at -o with its own plan; only --runs may differ')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the derived view as JSON; docs/format.md describes its keys')
            [CompletionResult]::new('--csv', '--csv', [CompletionResultType]::ParameterName, 'Print CSV: one row for each CPU count, or for each lock at each point of contention')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'Print a table and the verdict in Markdown, for a pull request or an issue')
            [CompletionResult]::new('--hyperfine-json', '--hyperfine-json', [CompletionResultType]::ParameterName, 'Print JSON in the format of hyperfine --export-json, for scripts that read this format')
            [CompletionResult]::new('--bencher', '--bencher', [CompletionResultType]::ParameterName, 'Print JSON for Bencher (bencher run --adapter json)')
            [CompletionResult]::new('--github-benchmark', '--github-benchmark', [CompletionResultType]::ParameterName, 'Print JSON for the GitHub action github-action-benchmark')
            [CompletionResult]::new('--openmetrics', '--openmetrics', [CompletionResultType]::ParameterName, 'Print text in the format of OpenMetrics, for Prometheus')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Show every figure with its interval, every warning and every note')
            [CompletionResult]::new('--wide', '--wide', [CompletionResultType]::ParameterName, 'Show every figure with its interval, every warning and every note')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print only errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print only errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;tune-spin' {
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON with every measurement')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;mark' {
            [CompletionResult]::new('--cpus', '--cpus', [CompletionResultType]::ParameterName, 'Mark the programs for at most N CPUs')
            [CompletionResult]::new('--enforce-part', '--enforce-part', [CompletionResultType]::ParameterName, 'A process behind `--enforce`')
            [CompletionResult]::new('--clear', '--clear', [CompletionResultType]::ParameterName, 'Remove the marks of the programs')
            [CompletionResult]::new('--renew', '--renew', [CompletionResultType]::ParameterName, 'Mark all programs of the list again whose files were replaced')
            [CompletionResult]::new('--enforce', '--enforce', [CompletionResultType]::ParameterName, 'Keep marked programs on few CPUs at every start in the system, until Ctrl-C (root)')
            [CompletionResult]::new('--cpuset', '--cpuset', [CompletionResultType]::ParameterName, 'Enforce by cpusets of cgroup version 1, which a program cannot leave, instead of the CPU affinity')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;launch' {
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'morecores;generate' {
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write one man page for morecores and one for each subcommand')
            [CompletionResult]::new('markdown', 'markdown', [CompletionResultType]::ParameterValue, 'Write the reference in Markdown')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Write the completions for every shell')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'morecores;generate;man' {
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'morecores;generate;markdown' {
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'morecores;generate;completions' {
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'morecores;generate;help' {
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write one man page for morecores and one for each subcommand')
            [CompletionResult]::new('markdown', 'markdown', [CompletionResultType]::ParameterValue, 'Write the reference in Markdown')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Write the completions for every shell')
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
            [CompletionResult]::new('trace', 'trace', [CompletionResultType]::ParameterValue, 'Trace one run of a command and show where its CPUs went')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show a study of a command or of locks, or a search of `shake`, as text or for programs')
            [CompletionResult]::new('predict', 'predict', [CompletionResultType]::ParameterValue, 'Predict a command on more CPUs than were measured, or than exist here')
            [CompletionResult]::new('what-if', 'what-if', [CompletionResultType]::ParameterValue, 'Estimate the speedup from removing a lock or a disk wait, or from making a command faster')
            [CompletionResult]::new('advise', 'advise', [CompletionResultType]::ParameterValue, 'Say what would make a command faster on more CPUs, by its study')
            [CompletionResult]::new('events', 'events', [CompletionResultType]::ParameterValue, 'Print a traced run as a table, for pandas, DuckDB and other programs')
            [CompletionResult]::new('export', 'export', [CompletionResultType]::ParameterValue, 'Write a traced run for a viewer of traces, a flame graph or pprof')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Compare two studies: what changed, what caused it, and whether a condition holds')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Write a report page: one file with every picture and table, for a browser without a network')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Show the studies of a directory in a browser on this machine')
            [CompletionResult]::new('topology', 'topology', [CompletionResultType]::ParameterValue, 'Show the CPUs of this machine and which of them are usable')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Report what this machine can measure, how noisy it is, and what would help')
            [CompletionResult]::new('suite', 'suite', [CompletionResultType]::ParameterValue, 'Study the classic SMP benchmarks and show each beside its published results')
            [CompletionResult]::new('locks', 'locks', [CompletionResultType]::ParameterValue, 'Measure the cost of locks, and advise which to use when')
            [CompletionResult]::new('tune-spin', 'tune-spin', [CompletionResultType]::ParameterValue, 'Show how long a lock should spin on this machine before it sleeps, with the measurements')
            [CompletionResult]::new('mark', 'mark', [CompletionResultType]::ParameterValue, 'Mark a program that works only on one CPU, or on a few')
            [CompletionResult]::new('launch', 'launch', [CompletionResultType]::ParameterValue, 'Start a program on as many CPUs as its mark allows')
            [CompletionResult]::new('generate', 'generate', [CompletionResultType]::ParameterValue, 'Write the man pages, the reference or the completions, from the definitions of this help')
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
        'morecores;help;advise' {
            break
        }
        'morecores;help;events' {
            break
        }
        'morecores;help;export' {
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
        'morecores;help;mark' {
            break
        }
        'morecores;help;launch' {
            break
        }
        'morecores;help;generate' {
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write one man page for morecores and one for each subcommand')
            [CompletionResult]::new('markdown', 'markdown', [CompletionResultType]::ParameterValue, 'Write the reference in Markdown')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Write the completions for every shell')
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
