# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_morecores_global_optspecs
    string join \n v/verbose h/help V/version
end

function __fish_morecores_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_morecores_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_morecores_using_subcommand
    set -l cmd (__fish_morecores_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c morecores -n "__fish_morecores_needs_command" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_needs_command" -s V -l version -d 'Print version'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "run" -d 'Measure a command on 1, 2, … n CPUs'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "trace" -d 'Trace one run of a command and show where its CPUs went'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "show" -d 'Show a study of a command or of locks, or a search of `shake`, as text or for programs'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "predict" -d 'Predict a command on more CPUs than were measured, or than exist here'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "what-if" -d 'Estimate the speedup from removing a lock or a disk wait, or from making a command faster'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "advise" -d 'Say what would make a command faster on more CPUs, by its study'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "events" -d 'Print a traced run as a table, for pandas, DuckDB and other programs'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "export" -d 'Write a traced run for a viewer of traces, a flame graph or pprof'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "compare" -d 'Compare two studies: what changed, what caused it, and whether a condition holds'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "report" -d 'Write a report page: one file with every picture and table, for a browser without a network'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "serve" -d 'Show the studies of a directory in a browser on this machine'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "topology" -d 'Show the CPUs of this machine and which of them are usable'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "doctor" -d 'Report what this machine can measure, how noisy it is, and what would help'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "suite" -d 'Study the classic SMP benchmarks and show each beside its published results'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "locks" -d 'Measure the cost of locks, and advise which to use when'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "tune-spin" -d 'Show how long a lock should spin on this machine before it sleeps, with the measurements'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "mark" -d 'Mark a program that works only on one CPU, or on a few'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "launch" -d 'Start a program on as many CPUs as its mark allows'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "generate" -d 'Write the man pages, the reference or the completions, from the definitions of this help'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l env -d 'Variable for the command, with `{n}` replaced in its value; NAME alone passes a variable on unchanged' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l input -d 'File for the command\'s standard input; `-` is the input of morecores. A pipe is read once, and every run gets a copy' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand run" -l input-limit -d 'Maximum size of input that can be read only once, for example 512M; larger input is refused [default: 1G]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l output -d 'Destination of the command\'s output' -r -f -a "capture\t'A file in memory; its end is shown if the command fails'
null\t'`/dev/null`'
inherit\t'The terminal or pipe of morecores itself'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l cpus -d 'CPU counts: numbers, ranges and `all` [default: every count up to 6; powers of two beyond; with --n or --quota: all]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l n -d 'Values of `{n}`: numbers and ranges; each is measured on each of the --cpus, by default on all CPUs alone [default: the CPU count]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l tune -d 'Find the best of the values of --n with at most a quarter of the runs of all of them: each round leaves out values that are shown to be worse [default with it: --runs 12, --precision 2%]' -r -f -a "n\t'The values of `{n}`'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l limit -d 'Mechanism that holds runs to their CPUs' -r -f -a "affinity\t'`sched_setaffinity(2)`: needs no privilege; a program can widen the mask again'
cpuset\t'Cpuset of a cgroup: a program cannot widen it'
hotplug\t'All other CPUs but CPU 0 are taken offline (root): interrupts and kernel threads move too'
quota\t'CPU time for each period of 100 ms by a cgroup\'s quota, as a container\'s CPU limit; the CPUs are allotted by affinity. Needs --quota'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l quota -d 'Limits of CPU time to measure, in CPUs as for containers (0.5,1,1.5,2) or in thousandths (500m,1000m); with --limit quota, by default on all CPUs alone' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l placement -d 'Order in which CPUs are added' -r -f -a "cores-first\t'One hardware thread of every core before a second thread of any core'
compact\t'All hardware threads of a core before the next core, near cores before far ones'
spread\t'Each CPU as far as possible from the CPUs already added; cores before siblings'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l cpu-list -d 'CPUs to add, in this order' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l precision -d 'Stop when the 95% interval of every speedup is within this percentage of the speedup (with one CPU count: of the median); 0 never stops early [default: stop when the answer stands, a yes with 3.3%; 1% with one CPU count]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -s r -l runs -d 'Maximum runs of each CPU count; given alone, stop at the default precision whatever the answer [default: 30]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l min-runs -d 'Minimum runs of each CPU count; with fewer than 6 runs no confidence interval is shown' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l max-time -d 'Maximum time of the study with warm-up and traced runs, for example 90s or 10m; 0 sets no limit [default: begin only runs that are expected to end within 5m]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l warmup -d 'Warm-up runs of each CPU count before the timed runs [default: 1, with --cold 0]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l timeout -d 'Maximum time of a run; a run that exceeds it is ended and has failed' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l success -d 'Exit statuses of successful runs, for example 0,1 for a linter; death by a signal is never a success [default: 0]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l seed -d 'Seed of the shuffle and of all resampling [default: from the clock]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l setup -d 'Shell line to run once, before the first run' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l prepare -d 'Shell line to run before every run, with `{n}` replaced' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l cleanup -d 'Shell line to run once, after the last run' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l remount -d 'File system to unmount and mount before each run, with --cold' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l metric -d 'Regular expression for a printed number, to measure instead of the time; its first group is the number. Several metrics need names: the first one decides, all are kept and shown' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l unit -d 'Unit of the number; NAME=TEXT is the unit of the metric with this name' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l decimal-mark -d 'Decimal mark of the command\'s numbers [default: determined from them; `1,234` alone is refused]' -r -f -a "point\t'Decimal point: `1,234.5`'
comma\t'Decimal comma: `1.234,5`'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l trace -d 'Trace further runs of each CPU count after the timed runs, to show where the CPUs went [default: auto]' -r -f -a "off\t'No run is traced'
auto\t'Runs are traced as far as the machine and the privilege allow; without causes of waiting where they allow little'
on\t'Runs are traced in full; the study does not start if that is impossible'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l traced-runs -d 'Traced runs of each CPU count, in shuffled rounds [default: 3; 1 if a run takes more than 20 s, if the time is too short, or if the traces are large]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l locks -d 'Holds of the command\'s own locks to trace. `exact` counts each hold of a mutex or reader-writer lock of the C library, which makes each lock some microseconds slower, also for other programs that use the same library during the run' -r -f -a "contended\t'Holds for which other threads wait'
exact\t'Also each hold of a lock of the C library, counted by probes at its functions'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l predict -d 'Also trace runs that predict these CPU counts: `{n}` becomes each count, on the existing CPUs [default LIST: 2, 4 and 8 times the largest count]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l worth -d 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -s o -l out -d 'Directory of the study [default: NAME-DATE-TIME.study in the current directory]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand run" -l shell -d 'Pass the command\'s words to `/bin/sh -c` as one line'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l thread-env -d 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and similar variables to the CPU count'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l expect-n -d 'Refuse to start if the command contains no `{n}`'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l weak -d 'Say that the work grows with `{n}`, as one input for each CPU: the answer is then about the work done in the same time (scaled speedup)'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l keep-disturbed -d 'Count rounds that others disturbed, and do not repeat them. By default, a round is repeated if other programs or the hypervisor took more than a tenth of the CPUs\' time, at most as often as the plan has rounds'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l ignore-failure -d 'Continue after a failed run, leave it out of every figure, and report the number of failed runs'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l incremental -d 'Measure an incremental build: continue even if the first run leaves almost no work for the later runs'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l keep -d 'Do not end processes that outlive the command'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l cold -d 'Write back and drop the page cache before each run (root)'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l lower-is-better -d 'Treat the number as a cost, not as a rate'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l syscalls -d 'Trace every system call with its file, pipe or process, not only the blocking calls'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l debuginfod -d 'Fetch debug files of stripped programs and libraries from the servers in DEBUGINFOD_URLS, by `debuginfod-find` and after each traced run, for the names of their functions'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l exit-answer -d 'Exit with the answer as status: 0 yes, 3 no, 4 it cannot be told yet'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l resume -d 'Continue the study at -o with its own command and plan. These options may differ: --runs, --precision, --keep-disturbed, --max-time, --trace, --traced-runs, --syscalls, --debuginfod, --predict, --success, --ignore-failure, --incremental and --worth. Missing traces are made'
complete -c morecores -n "__fish_morecores_using_subcommand run" -s w -l wide -d 'Show every column of the table, every warning and every note'
complete -c morecores -n "__fish_morecores_using_subcommand run" -s q -l quiet -d 'Print only errors'
complete -c morecores -n "__fish_morecores_using_subcommand run" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -s n -d 'Value of `{n}` [default: the CPU count]' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l env -d 'Variable for the command, with `{n}` replaced in its value; NAME alone passes a variable on unchanged' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l input -d 'File for the command\'s standard input; `-` is the input of morecores' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l output -d 'Destination of the command\'s output' -r -f -a "capture\t'A file in memory; its end is shown if the command fails'
null\t'`/dev/null`'
inherit\t'The terminal or pipe of morecores itself'"
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l prepare -d 'Shell line to run before the run, untraced, with `{n}` replaced' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l timeout -d 'Maximum time of the run; a run that exceeds it is ended, and its trace so far is shown' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l success -d 'Exit statuses of a successful run [default: 0]' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l cpus -d 'Number of CPUs for the run, or `all` [default: all usable]' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l limit -d 'Mechanism that holds the run to its CPUs' -r -f -a "affinity\t'`sched_setaffinity(2)`: needs no privilege; a program can widen the mask again'
cpuset\t'Cpuset of a cgroup: a program cannot widen it'
hotplug\t'All other CPUs but CPU 0 are taken offline (root): interrupts and kernel threads move too'
quota\t'CPU time for each period of 100 ms by a cgroup\'s quota, as a container\'s CPU limit; the CPUs are allotted by affinity. Needs --quota'"
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l quota -d 'Limit of CPU time, in CPUs as for containers (1.5) or in thousandths (1500m); with --limit quota' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l cpu-list -d 'CPUs for the run; it gets the first ones of this list' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l locks -d 'Holds of the command\'s own locks to trace. `exact` counts each hold of a mutex or reader-writer lock of the C library, which makes each lock some microseconds slower, also for other programs that use the same library during the run' -r -f -a "contended\t'Holds for which other threads wait'
exact\t'Also each hold of a lock of the C library, counted by probes at its functions'"
complete -c morecores -n "__fish_morecores_using_subcommand trace" -s o -l out -d 'Directory of a study that keeps the trace; `morecores show` shows it again' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l shell -d 'Pass the command\'s words to `/bin/sh -c` as one line'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l thread-env -d 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and similar variables to the value of `{n}`'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l keep -d 'Do not end processes that outlive the command'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l syscalls -d 'Trace every system call with its file, pipe or process, not only the blocking calls'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l debuginfod -d 'Fetch debug files of stripped programs and libraries from the servers in DEBUGINFOD_URLS, by `debuginfod-find` and after the run, for the names of their functions'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l json -d 'Print the figures as JSON; docs/format.md describes their keys'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l by -d 'Show one division of the traced runs\' time in place of the whole report' -r -f -a "function\t'Code that holds each loss: functions, and calls with all that they call'
path\t'Critical path: the chain of activities that decided the elapsed time'
thread\t'Threads, by the time for which few others ran beside them'
efficiency\t'Efficiencies: load balance, serialisation, transfer, computation scaling (POP)'"
complete -c morecores -n "__fish_morecores_using_subcommand show" -l worth -d 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]' -r
complete -c morecores -n "__fish_morecores_using_subcommand show" -l json -d 'Print the derived view as JSON; docs/format.md describes its keys'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l csv -d 'Print CSV: one row for each CPU count, or for each lock at each point of contention'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l markdown -d 'Print a table and the verdict in Markdown, for a pull request or an issue'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l hyperfine-json -d 'Print JSON in the format of hyperfine --export-json, for scripts that read this format'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l bencher -d 'Print JSON for Bencher (bencher run --adapter json)'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l github-benchmark -d 'Print JSON for the GitHub action github-action-benchmark'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l openmetrics -d 'Print text in the format of OpenMetrics, for Prometheus'
complete -c morecores -n "__fish_morecores_using_subcommand show" -s w -l wide -d 'Show every column of the table, every warning and every note'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l exit-answer -d 'Exit with the answer as status: 0 yes, 3 no, 4 it cannot be told yet'
complete -c morecores -n "__fish_morecores_using_subcommand show" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l cpus -d 'CPU counts to predict: numbers and ranges [default: those of `run --predict`, or 2, 4 and 8 times the largest measured count]' -r
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l from -d 'Measured CPU counts to predict from [default: all]' -r
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l price -d 'Hourly prices of machines by CPU count: 2=0.10,16=0.80; the output then contains the cost of a run on each' -r
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l memory -d 'Memory of the predicted machines, for example 64G [default: the memory that the measured command had]' -r
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l explain -d 'Also show every model and its error in the test'
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l json -d 'Print JSON; docs/format.md describes its keys'
complete -c morecores -n "__fish_morecores_using_subcommand predict" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand predict" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -l without -d 'Obstacle to remove: a lock by a part of its name, a command by its name, `disk` or `serial`' -r
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -l faster -d 'Command to make faster, and the factor: `ld=2x`' -r
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -l cpus -d 'CPU counts: numbers and ranges [default: the largest measured count, and those that the traces support]' -r
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -l json -d 'Print JSON; docs/format.md describes its keys'
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand advise" -l json -d 'Print JSON; docs/format.md describes its keys'
complete -c morecores -n "__fish_morecores_using_subcommand advise" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand advise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand events" -l trace -d 'Name of the trace: that of its file in STUDY/traces, without the ending [default: the shown one on the most CPUs]' -r
complete -c morecores -n "__fish_morecores_using_subcommand events" -l where -d 'Print only the rows of which a column has this value: COLUMN=VALUE, or with != < <= > >= (repeatable)' -r
complete -c morecores -n "__fish_morecores_using_subcommand events" -l csv -d 'Print CSV with a header line [default]'
complete -c morecores -n "__fish_morecores_using_subcommand events" -l json -d 'Print one JSON object per line'
complete -c morecores -n "__fish_morecores_using_subcommand events" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand events" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand export" -l to -d 'Format of the file' -r -f -a "chrome-trace\t'Trace Event Format: ui.perfetto.dev, chrome://tracing, speedscope'
perfetto\t'Trace of Perfetto: ui.perfetto.dev, for long runs'
firefox\t'Profile of Firefox: profiler.firefox.com, with the samples of each thread over time'
folded\t'CPU time by call stack, one line each: flamegraph.pl, inferno, speedscope'
pprof\t'Profile of pprof, with CPU time and idle time by call stack: `go tool pprof`'
talp\t'Efficiencies of POP in the JSON of TALP (DLB), also for programs of gcc\'s OpenMP'"
complete -c morecores -n "__fish_morecores_using_subcommand export" -l trace -d 'Name of the trace: that of its file in STUDY/traces, without the ending [default: the shown one on the most CPUs]' -r
complete -c morecores -n "__fish_morecores_using_subcommand export" -s o -l out -d 'File to write; `-` is standard output [default: the name of the study and of the trace, in the current directory]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand export" -l force -d 'Replace the file if it exists'
complete -c morecores -n "__fish_morecores_using_subcommand export" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l fail-if -d 'Condition for exit status 3 (repeatable): a figure at a CPU count, then <, <=, > or >=, then a number or, with %, a share of BASE. Figures are the keys of `show --json` that have an interval: speedup@2, elapsed_s@2, user_s@2, minor_faults@2. The whole interval must fulfil the condition, so that chance alone fulfils it in at most 2.5% of comparisons' -r
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l at-least -d 'Minimum relative change that counts as a difference, in percent; it must also exceed the noise' -r
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l strict -d 'Exit with status 3 also if a condition is undecided: its interval lies on both sides of the limit, or there are too few runs'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l json -d 'Print JSON; docs/format.md describes its keys'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l markdown -d 'Print Markdown, for a comment on a pull request'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand report" -s o -l out -d 'File of the page; `-` is standard output [default: report.html; no page with --plot]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand report" -l worth -d 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]' -r
complete -c morecores -n "__fish_morecores_using_subcommand report" -l plot -d 'Picture to draw as SVG or PNG (repeatable); the name of FILE selects it: `speedup.svg`, `make-stack.png`' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand report" -l picture -d 'Picture that --plot draws, whatever the name of its FILE' -r -f -a "speedup\t'Speedup against CPUs, with every run and the prediction'
elapsed\t'Elapsed time against CPUs'
efficiency\t'Efficiency against CPUs'
metric\t'Metric against CPUs'
stack\t'Speedup stacks'
bottles\t'Threads of the traced run on the most CPUs, by criticality'
timeline\t'Traced run on the most CPUs, over time'
suite\t'Published and measured speedups of a suite\'s benchmarks'"
complete -c morecores -n "__fish_morecores_using_subcommand report" -l width -d 'Width of a picture in pixels; a PNG has twice as many pixels, for sharp screens' -r
complete -c morecores -n "__fish_morecores_using_subcommand report" -l axes -d 'Axes of a picture [default: logarithmic if the largest CPU count is at least eight times the smallest]' -r -f -a "linear\t'Equal steps'
log\t'Equal ratios'"
complete -c morecores -n "__fish_morecores_using_subcommand report" -l dark -d 'Draw on a dark background'
complete -c morecores -n "__fish_morecores_using_subcommand report" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand serve" -l port -d 'Port to listen on; 0 chooses a free port' -r
complete -c morecores -n "__fish_morecores_using_subcommand serve" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand topology" -l record -d 'Write all data read from the system to FILE (`-` for standard output), for a bug report' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand topology" -l from -d 'Read FILE, made by --record, instead of this machine' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand topology" -l json -d 'Print JSON'
complete -c morecores -n "__fish_morecores_using_subcommand topology" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand topology" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand doctor" -l report -d 'Write versions, findings and the last log to FILE for a bug report, without names of hosts, users and homes; `-` is standard output [default FILE: morecores-report.txt]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand doctor" -l quick -d 'Skip the measurements of noise and memory, which take about twelve seconds'
complete -c morecores -n "__fish_morecores_using_subcommand doctor" -l json -d 'Print JSON'
complete -c morecores -n "__fish_morecores_using_subcommand doctor" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -s o -l out -d 'Directory of the studies [default: suite-DATE-TIME in the current directory]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l show -d 'Directory of a suite to show; nothing is run' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l worth -d 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]' -r
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l quick -d 'Make six short runs of each CPU count: all benchmarks within 3 minutes on a quiet machine with 2 CPUs [the default]'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l full -d 'Make runs of several seconds, until each speedup is known to 1% or for a minute and a half: at most an hour on 2 CPUs'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l resume -d 'Continue the suite at -o; benchmarks with a complete study are not run again'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l list -d 'List the benchmarks with their descriptions, and exit'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l markdown -d 'Print the tables in Markdown'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l json -d 'Print all derived figures as JSON; docs/format.md describes their keys'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l lock -d 'Names of the locks [default: all]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l threads -d 'Numbers of threads that use the lock [default: powers of two up to twice the usable CPUs]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l hold -d 'Hold times of the lock, with units [default: 0,100ns,1us,10us,100us; with --quick 0,1us,100us]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l think -d 'Times that a thread spends away from the lock, with units; `hold` equals the hold time [default: 0,hold]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s r -l runs -d 'Number of rounds; with fewer than 6 rounds no confidence interval is shown [default: 7; with --quick 6]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l seed -d 'Seed of the shuffle [default: from the clock]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s o -l out -d 'Directory of the study [default: locks-DATE-TIME.study in the current directory]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l quick -d 'Measure fewer cells for a shorter time: about a minute on 2 CPUs'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l resume -d 'Continue the study at -o with its own plan; only --runs may differ'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l json -d 'Print the derived view as JSON; docs/format.md describes its keys'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l csv -d 'Print CSV: one row for each CPU count, or for each lock at each point of contention'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l markdown -d 'Print a table and the verdict in Markdown, for a pull request or an issue'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l hyperfine-json -d 'Print JSON in the format of hyperfine --export-json, for scripts that read this format'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l bencher -d 'Print JSON for Bencher (bencher run --adapter json)'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l github-benchmark -d 'Print JSON for the GitHub action github-action-benchmark'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l openmetrics -d 'Print text in the format of OpenMetrics, for Prometheus'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s w -l wide -d 'Show every figure with its interval, every warning and every note'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s q -l quiet -d 'Print only errors'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand tune-spin" -l json -d 'Print JSON with every measurement'
complete -c morecores -n "__fish_morecores_using_subcommand tune-spin" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand tune-spin" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand mark" -l cpus -d 'Mark the programs for at most N CPUs' -r
complete -c morecores -n "__fish_morecores_using_subcommand mark" -l enforce-part -d 'A process behind `--enforce`' -r -f -a "worker\t''
cpuset-worker\t'Worker that uses cpusets'
inspector\t''"
complete -c morecores -n "__fish_morecores_using_subcommand mark" -l clear -d 'Remove the marks of the programs'
complete -c morecores -n "__fish_morecores_using_subcommand mark" -l renew -d 'Mark all programs of the list again whose files were replaced'
complete -c morecores -n "__fish_morecores_using_subcommand mark" -l enforce -d 'Keep marked programs on few CPUs at every start in the system, until Ctrl-C (root)'
complete -c morecores -n "__fish_morecores_using_subcommand mark" -l cpuset -d 'Enforce by cpusets of cgroup version 1, which a program cannot leave, instead of the CPU affinity'
complete -c morecores -n "__fish_morecores_using_subcommand mark" -l json -d 'Print JSON'
complete -c morecores -n "__fish_morecores_using_subcommand mark" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand mark" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand launch" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand launch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -f -a "man" -d 'Write one man page for morecores and one for each subcommand'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -f -a "markdown" -d 'Write the reference in Markdown'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -f -a "completions" -d 'Write the completions for every shell'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from man" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from markdown" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from markdown" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from completions" -s v -l verbose -d 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "man" -d 'Write one man page for morecores and one for each subcommand'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "markdown" -d 'Write the reference in Markdown'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "completions" -d 'Write the completions for every shell'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "run" -d 'Measure a command on 1, 2, … n CPUs'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "trace" -d 'Trace one run of a command and show where its CPUs went'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "show" -d 'Show a study of a command or of locks, or a search of `shake`, as text or for programs'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "predict" -d 'Predict a command on more CPUs than were measured, or than exist here'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "what-if" -d 'Estimate the speedup from removing a lock or a disk wait, or from making a command faster'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "advise" -d 'Say what would make a command faster on more CPUs, by its study'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "events" -d 'Print a traced run as a table, for pandas, DuckDB and other programs'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "export" -d 'Write a traced run for a viewer of traces, a flame graph or pprof'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "compare" -d 'Compare two studies: what changed, what caused it, and whether a condition holds'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "report" -d 'Write a report page: one file with every picture and table, for a browser without a network'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "serve" -d 'Show the studies of a directory in a browser on this machine'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "topology" -d 'Show the CPUs of this machine and which of them are usable'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "doctor" -d 'Report what this machine can measure, how noisy it is, and what would help'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "suite" -d 'Study the classic SMP benchmarks and show each beside its published results'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "locks" -d 'Measure the cost of locks, and advise which to use when'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "tune-spin" -d 'Show how long a lock should spin on this machine before it sleeps, with the measurements'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "mark" -d 'Mark a program that works only on one CPU, or on a few'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "launch" -d 'Start a program on as many CPUs as its mark allows'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "generate" -d 'Write the man pages, the reference or the completions, from the definitions of this help'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if advise events export compare report serve topology doctor suite locks tune-spin mark launch generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c morecores -n "__fish_morecores_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "man" -d 'Write one man page for morecores and one for each subcommand'
complete -c morecores -n "__fish_morecores_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "markdown" -d 'Write the reference in Markdown'
complete -c morecores -n "__fish_morecores_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "completions" -d 'Write the completions for every shell'
