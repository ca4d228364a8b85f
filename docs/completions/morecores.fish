# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_morecores_global_optspecs
    string join \n h/help V/version
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

complete -c morecores -n "__fish_morecores_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_needs_command" -s V -l version -d 'Print version'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "run" -d 'Measure a command on 1, 2, … n CPUs'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "trace" -d 'Trace one run of a command, and say where its CPUs went'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "show" -d 'Show a study again, of a command or of locks, for people or for programs'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "predict" -d 'Predict a command on more CPUs than were measured, or than there are'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "what-if" -d 'Say what would be gained if a lock, a command or a disk were not in the way'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "compare" -d 'Compare two studies: what changed, what caused it, and whether a condition holds'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "report" -d 'Write a report page: one file with every picture and table, to be opened in a browser without a network'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "serve" -d 'Show the studies of a directory in a browser on this machine'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "topology" -d 'Print the machine and which of its CPUs are usable'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "doctor" -d 'Say what this machine can measure, how noisy it is, and what would help'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "suite" -d 'Study the classic SMP benchmarks, and show each beside what was published of it'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "locks" -d 'Measure locks: what each costs, and which to take when'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "tune-spin" -d 'Say how long a lock should spin on this machine before it sleeps, and how that was found'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "work" -d 'Run one of the built-in programs once'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "generate" -d 'Write the man pages or a shell\'s completions, from the same definitions as this help'
complete -c morecores -n "__fish_morecores_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l env -d 'Set a variable for the command, `{n}` replaced in its value; NAME alone passes one on as it is' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l input -d 'Standard input of the command; `-` is that of morecores. A pipe is read once, and every run gets a copy' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand run" -l input-limit -d 'Refuse input that can be read only once and holds more than this, for example 512M [default: 1G]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l output -d 'Where the command\'s output goes' -r -f -a "capture\t'A file in memory; its end is shown if the command fails'
null\t'`/dev/null`'
inherit\t'The terminal or pipe of morecores itself'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l cpus -d 'CPU counts: numbers, ranges and `all` [default: every count up to 6; powers of two beyond]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l limit -d 'How runs are held to their CPUs' -r -f -a "affinity\t'`sched_setaffinity(2)`: needs no privilege; a program can widen the mask again'
cpuset\t'Cpuset of a cgroup: a program cannot widen it'
hotplug\t'All other CPUs but CPU 0 are taken offline (root): interrupts and kernel threads move too'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l placement -d 'In which order CPUs are added' -r -f -a "cores-first\t'One hardware thread of every core before a second thread of any core'
compact\t'All hardware threads of a core before the next core, near cores before far ones'
spread\t'Each CPU as far as possible from the CPUs already added; cores before siblings'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l cpu-list -d 'Add the CPUs of this list, in this order' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l precision -d 'Stop when the 95% interval of every median is within this share of it; 0 never stops early [default: 1%]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -s r -l runs -d 'At most this many runs of each CPU count [default: 30]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l min-runs -d 'At least this many runs of each CPU count; fewer than 6 bear no interval' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l max-time -d 'End the study after this long, for example 90s or 10m, warm-up and traced runs included; 0: no limit [default: begin no run that is not expected to end within 5m]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l warmup -d 'Runs of each CPU count before those that count [default: 1, with --cold 0]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l timeout -d 'End a run after this long; it has then failed' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l success -d 'Exit statuses of runs that count, for example 0,1 for a linter; death by a signal never does [default: 0]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l seed -d 'Seed of the shuffle and of all resampling [default: from the clock]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l setup -d 'Run this shell line once, before the first run' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l prepare -d 'Run this shell line before every run; `{n}` is replaced in it' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l cleanup -d 'Run this shell line once, after the last run' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l remount -d 'With --cold: also unmount and mount this file system before each run' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l metric -d 'Measure the number that the command prints instead of its time: a regular expression, its first group. Several, each with a name: the first decides, all are kept and shown' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l unit -d 'The number\'s unit; NAME=TEXT is that of the metric of this name' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -l decimal-mark -d 'What stands before the fraction of the command\'s numbers [default: told from them; `1,234` alone is refused]' -r -f -a "point\t'Decimal point: `1,234.5`'
comma\t'Decimal comma: `1.234,5`'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l trace -d 'After the timed runs, trace one more of each CPU count, to say where the CPUs went [default: auto]' -r -f -a "off\t'No run is traced'
auto\t'Runs are traced as far as the machine and the privilege allow; context switches alone where they allow little'
on\t'Runs are traced in full; the study does not start if that is impossible'"
complete -c morecores -n "__fish_morecores_using_subcommand run" -l predict -d 'Also trace what predicts these CPU counts: the command told each of them, on the CPUs there are [default LIST: 2, 4 and 8 times the largest count]' -r
complete -c morecores -n "__fish_morecores_using_subcommand run" -s o -l study -d 'Where to keep the study [default: NAME-DATE-TIME.study here]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand run" -l shell -d 'Give the command\'s words to `/bin/sh -c` as one line'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l thread-env -d 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and their like to the CPU count'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l expect-n -d 'Refuse to start where `{n}` is nowhere in the command'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l ignore-failure -d 'Go on after a run that fails, leave it out of every figure, and say how many there were'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l incremental -d 'Go on where the first run leaves the later ones next to nothing to do, as a build does; without --prepare, what is measured then is an incremental build'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l keep -d 'Leave processes alone that outlive the command'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l cold -d 'Write back and drop the page cache before each run (root)'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l lower-is-better -d 'The number is a cost, not a rate'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l syscalls -d 'Trace every system call with the file, pipe or process that it is about, not only those that block'
complete -c morecores -n "__fish_morecores_using_subcommand run" -l resume -d 'Go on with the study at -o; its command and plan hold, --runs, --precision, --max-time, --trace, --syscalls, --predict, --success, --ignore-failure and --incremental may differ; traces that are missing are made'
complete -c morecores -n "__fish_morecores_using_subcommand run" -s w -l wide -d 'Every column of the table, every warning and every note'
complete -c morecores -n "__fish_morecores_using_subcommand run" -s q -l quiet -d 'Print nothing but errors'
complete -c morecores -n "__fish_morecores_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -s n -d 'What `{n}` becomes [default: the CPU count]' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l env -d 'Set a variable for the command, `{n}` replaced in its value; NAME alone passes one on as it is' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l input -d 'Standard input of the command; `-` is that of morecores' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l output -d 'Where the command\'s output goes' -r -f -a "capture\t'A file in memory; its end is shown if the command fails'
null\t'`/dev/null`'
inherit\t'The terminal or pipe of morecores itself'"
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l prepare -d 'Run this shell line before the run, untraced; `{n}` is replaced in it' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l timeout -d 'End the run after this long; what it did until then is shown' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l success -d 'Exit statuses with which the command has not failed [default: 0]' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l cpus -d 'How many CPUs the run is allotted: a number or `all` [default: all usable]' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l limit -d 'How it is held to them' -r -f -a "affinity\t'`sched_setaffinity(2)`: needs no privilege; a program can widen the mask again'
cpuset\t'Cpuset of a cgroup: a program cannot widen it'
hotplug\t'All other CPUs but CPU 0 are taken offline (root): interrupts and kernel threads move too'"
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l cpu-list -d 'Which CPUs: the first ones of this list' -r
complete -c morecores -n "__fish_morecores_using_subcommand trace" -s o -l study -d 'Keep the trace as a study there; `morecores show` shows it again' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l shell -d 'Give the command\'s words to `/bin/sh -c` as one line'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l thread-env -d 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and their like to what `{n}` becomes'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l keep -d 'Leave processes alone that outlive the command'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l syscalls -d 'Trace every system call with the file, pipe or process that it is about, not only those that block'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -l json -d 'The figures as JSON; their keys are described in docs/format.md'
complete -c morecores -n "__fish_morecores_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l json -d 'The derived view as JSON; its keys are described in docs/format.md'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l csv -d 'One row a CPU count; of locks one row a lock and contest'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l markdown -d 'A table and the verdict, for a pull request or an issue'
complete -c morecores -n "__fish_morecores_using_subcommand show" -l hyperfine-json -d 'In the format of hyperfine --export-json, for scripts that read that'
complete -c morecores -n "__fish_morecores_using_subcommand show" -s w -l wide -d 'Every column of the table, every warning and every note'
complete -c morecores -n "__fish_morecores_using_subcommand show" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l cpus -d 'CPU counts to predict: numbers and ranges [default: those of `run --predict`, or 2, 4 and 8 times the largest measured]' -r
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l from -d 'Measured counts that it may rest on [default: all]' -r
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l price -d 'Prices of machines by their CPUs, an hour: 2=0.10,16=0.80; adds what a run costs on each' -r
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l memory -d 'Memory of the machines predicted: 64G [default: what the command had where it was measured]' -r
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l explain -d 'Also every model, and how far each was off when it was tested'
complete -c morecores -n "__fish_morecores_using_subcommand predict" -l json -d 'As JSON; its keys are described in docs/format.md'
complete -c morecores -n "__fish_morecores_using_subcommand predict" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -l without -d 'Without this: a lock by a part of its name, a command by its name, `disk`, `serial`' -r
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -l faster -d 'With this command so much faster: `ld=2x`' -r
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -l cpus -d 'On how many CPUs: numbers and ranges [default: the largest measured count and what the traces bear]' -r
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -l json -d 'As JSON; its keys are described in docs/format.md'
complete -c morecores -n "__fish_morecores_using_subcommand what-if" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l fail-if -d 'Exit with status 3 if this holds: a figure at a CPU count, <, <=, > or >=, and a number, or a share of BASE with %; may be given more than once. Figures are the keys of `show --json`: speedup@2, elapsed_s@2, idle_disk@2, traces.waiting_ratio@2' -r
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l at-least -d 'The smallest relative difference that is called one, in percent, besides noise' -r
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l strict -d 'Exit with status 3 also where a condition cannot be told: its interval lies on both sides, or there are too few runs'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l json -d 'As JSON; its keys are described in docs/format.md'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -l markdown -d 'For a comment on a pull request'
complete -c morecores -n "__fish_morecores_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand report" -s o -l output -d 'Where to write the page; `-` for standard output [default: report.html; no page with --plot]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand report" -l plot -d 'Draw the picture that FILE is called after, as SVG or PNG: `speedup.svg`, `make-stack.png`; may be given several times' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand report" -l picture -d 'Which picture --plot draws, whatever its file is called' -r -f -a "speedup\t'Speedup against CPUs, with every run and the prediction'
elapsed\t'Elapsed time against CPUs'
efficiency\t'Efficiency against CPUs'
metric\t'Metric against CPUs'
stack\t'Speedup stacks'
timeline\t'Traced run on the most CPUs, over time'
suite\t'Published and measured speedups of a suite\'s benchmarks'"
complete -c morecores -n "__fish_morecores_using_subcommand report" -l width -d 'Width of a picture in pixels; a PNG has twice as many, for sharp screens' -r
complete -c morecores -n "__fish_morecores_using_subcommand report" -l axes -d 'Axes of a picture [default: logarithmic where the CPU counts reach to eight times the smallest]' -r -f -a "linear\t'Equal steps'
log\t'Equal ratios'"
complete -c morecores -n "__fish_morecores_using_subcommand report" -l dark -d 'Draw on a dark ground'
complete -c morecores -n "__fish_morecores_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand serve" -l port -d 'The port to listen on; 0: any that is free' -r
complete -c morecores -n "__fish_morecores_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand topology" -l record -d 'Write all that was read from the system to FILE (`-` for standard output), to be sent with a bug report' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand topology" -l from -d 'Read such a recording instead of this machine' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand topology" -l json -d 'As JSON'
complete -c morecores -n "__fish_morecores_using_subcommand topology" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand doctor" -l quick -d 'Leave the measurement of noise out, which takes about ten seconds'
complete -c morecores -n "__fish_morecores_using_subcommand doctor" -l json -d 'As JSON'
complete -c morecores -n "__fish_morecores_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -s o -l directory -d 'Where to keep the studies [default: suite-DATE-TIME here]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l show -d 'Run nothing; show the studies that are kept there' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l quick -d 'Short runs, six of each CPU count: all benchmarks within 3 minutes on a quiet machine with 2 CPUs [the default]'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l full -d 'Runs of seconds, until each median is known to 1% or for a minute and a half: an hour on 2 CPUs at most'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l resume -d 'Go on with the suite at -o: benchmarks that have a whole study there are not run again'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l list -d 'Name the benchmarks and what each is, and end'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l markdown -d 'The tables in Markdown'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -l json -d 'Everything derived from the studies as JSON; its keys are described in docs/format.md'
complete -c morecores -n "__fish_morecores_using_subcommand suite" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l lock -d 'Which locks, by name [default: all]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l threads -d 'Numbers of threads at the lock [default: powers of two up to twice the usable CPUs]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l hold -d 'For how long the lock is held, with units [default: 0,100ns,1us,10us,100us; with --quick 0,1us,100us]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l think -d 'How long a thread stays away from the lock: times with units, or `hold`, as long as it held it [default: 0,hold]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l rounds -d 'How often each cell is measured; fewer than 6 bear no interval [default: 7; with --quick 6]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l seed -d 'Seed of the shuffle [default: from the clock]' -r
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s o -l study -d 'Where to keep the study [default: locks-DATE-TIME.study here]' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l resume -d 'Go on with this study; its plan holds, but --rounds may differ' -r -F
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l quick -d 'Shorter contests, fewer of them: about a minute on 2 CPUs'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l json -d 'The derived view as JSON; its keys are described in docs/format.md'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l csv -d 'One row a CPU count; of locks one row a lock and contest'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l markdown -d 'A table and the verdict, for a pull request or an issue'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -l hyperfine-json -d 'In the format of hyperfine --export-json, for scripts that read that'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s w -l wide -d 'Every figure with its interval, every warning and every note'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s q -l quiet -d 'Print nothing but errors'
complete -c morecores -n "__fish_morecores_using_subcommand locks" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand tune-spin" -l json -d 'As JSON, with every measurement'
complete -c morecores -n "__fish_morecores_using_subcommand tune-spin" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand work" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -f -a "man" -d 'One man page for morecores and one for each subcommand'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -f -a "markdown" -d 'The reference in Markdown'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -f -a "completions" -d 'Completions for every shell'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and not __fish_seen_subcommand_from man markdown completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from markdown" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "man" -d 'One man page for morecores and one for each subcommand'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "markdown" -d 'The reference in Markdown'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "completions" -d 'Completions for every shell'
complete -c morecores -n "__fish_morecores_using_subcommand generate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "run" -d 'Measure a command on 1, 2, … n CPUs'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "trace" -d 'Trace one run of a command, and say where its CPUs went'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "show" -d 'Show a study again, of a command or of locks, for people or for programs'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "predict" -d 'Predict a command on more CPUs than were measured, or than there are'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "what-if" -d 'Say what would be gained if a lock, a command or a disk were not in the way'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "compare" -d 'Compare two studies: what changed, what caused it, and whether a condition holds'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "report" -d 'Write a report page: one file with every picture and table, to be opened in a browser without a network'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "serve" -d 'Show the studies of a directory in a browser on this machine'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "topology" -d 'Print the machine and which of its CPUs are usable'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "doctor" -d 'Say what this machine can measure, how noisy it is, and what would help'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "suite" -d 'Study the classic SMP benchmarks, and show each beside what was published of it'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "locks" -d 'Measure locks: what each costs, and which to take when'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "tune-spin" -d 'Say how long a lock should spin on this machine before it sleeps, and how that was found'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "work" -d 'Run one of the built-in programs once'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "generate" -d 'Write the man pages or a shell\'s completions, from the same definitions as this help'
complete -c morecores -n "__fish_morecores_using_subcommand help; and not __fish_seen_subcommand_from run trace show predict what-if compare report serve topology doctor suite locks tune-spin work generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c morecores -n "__fish_morecores_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "man" -d 'One man page for morecores and one for each subcommand'
complete -c morecores -n "__fish_morecores_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "markdown" -d 'The reference in Markdown'
complete -c morecores -n "__fish_morecores_using_subcommand help; and __fish_seen_subcommand_from generate" -f -a "completions" -d 'Completions for every shell'
