
use builtin;
use str;

set edit:completion:arg-completer[morecores] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'morecores'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'morecores'= {
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand run 'Measure a command on 1, 2, … n CPUs'
            cand trace 'Trace one run of a command, and say where its CPUs went'
            cand show 'Show a study again, of a command or of locks, for people or for programs'
            cand predict 'Predict a command on more CPUs than were measured, or than there are'
            cand what-if 'Say what would be gained if a lock, a command or a disk were not in the way'
            cand compare 'Compare two studies: what changed, what caused it, and whether a condition holds'
            cand report 'Write a report page: one file with every picture and table, to be opened in a browser without a network'
            cand serve 'Show the studies of a directory in a browser on this machine'
            cand topology 'Print the machine and which of its CPUs are usable'
            cand doctor 'Say what this machine can measure, how noisy it is, and what would help'
            cand suite 'Study the classic SMP benchmarks, and show each beside what was published of it'
            cand locks 'Measure locks: what each costs, and which to take when'
            cand tune-spin 'Say how long a lock should spin on this machine before it sleeps, and how that was found'
            cand work 'Run one of the built-in programs once'
            cand generate 'Write the man pages or a shell''s completions, from the same definitions as this help'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'morecores;run'= {
            cand --env 'Set a variable for the command, `{n}` replaced in its value; NAME alone passes one on as it is'
            cand --input 'Standard input of the command; `-` is that of morecores. A pipe is read once, and every run gets a copy'
            cand --input-limit 'Refuse input that can be read only once and holds more than this, for example 512M [default: 1G]'
            cand --output 'Where the command''s output goes'
            cand --cpus 'CPU counts: numbers, ranges and `all` [default: every count up to 6; powers of two beyond]'
            cand --limit 'How runs are held to their CPUs'
            cand --placement 'In which order CPUs are added'
            cand --cpu-list 'Add the CPUs of this list, in this order'
            cand --precision 'Stop when the 95% interval of every median is within this share of it; 0 never stops early [default: 1%]'
            cand -r 'At most this many runs of each CPU count [default: 30]'
            cand --runs 'At most this many runs of each CPU count [default: 30]'
            cand --min-runs 'At least this many runs of each CPU count; fewer than 6 bear no interval'
            cand --max-time 'End the study after this long, for example 90s or 10m, warm-up and traced runs included; 0: no limit [default: begin no run that is not expected to end within 5m]'
            cand --warmup 'Runs of each CPU count before those that count [default: 1, with --cold 0]'
            cand --timeout 'End a run after this long; it has then failed'
            cand --success 'Exit statuses of runs that count, for example 0,1 for a linter; death by a signal never does [default: 0]'
            cand --seed 'Seed of the shuffle and of all resampling [default: from the clock]'
            cand --setup 'Run this shell line once, before the first run'
            cand --prepare 'Run this shell line before every run; `{n}` is replaced in it'
            cand --cleanup 'Run this shell line once, after the last run'
            cand --remount 'With --cold: also unmount and mount this file system before each run'
            cand --metric 'Measure the number that the command prints instead of its time: a regular expression, its first group. Several, each with a name: the first decides, all are kept and shown'
            cand --unit 'The number''s unit; NAME=TEXT is that of the metric of this name'
            cand --decimal-mark 'What stands before the fraction of the command''s numbers [default: told from them; `1,234` alone is refused]'
            cand --trace 'After the timed runs, trace one more of each CPU count, to say where the CPUs went [default: auto]'
            cand --predict 'Also trace what predicts these CPU counts: the command told each of them, on the CPUs there are [default LIST: 2, 4 and 8 times the largest count]'
            cand -o 'Where to keep the study [default: NAME-DATE-TIME.study here]'
            cand --study 'Where to keep the study [default: NAME-DATE-TIME.study here]'
            cand --shell 'Give the command''s words to `/bin/sh -c` as one line'
            cand --thread-env 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and their like to the CPU count'
            cand --expect-n 'Refuse to start where `{n}` is nowhere in the command'
            cand --ignore-failure 'Go on after a run that fails, leave it out of every figure, and say how many there were'
            cand --incremental 'Go on where the first run leaves the later ones next to nothing to do, as a build does; without --prepare, what is measured then is an incremental build'
            cand --keep 'Leave processes alone that outlive the command'
            cand --cold 'Write back and drop the page cache before each run (root)'
            cand --lower-is-better 'The number is a cost, not a rate'
            cand --syscalls 'Trace every system call with the file, pipe or process that it is about, not only those that block'
            cand --resume 'Go on with the study at -o; its command and plan hold, --runs, --precision, --max-time, --trace, --syscalls, --predict, --success, --ignore-failure and --incremental may differ; traces that are missing are made'
            cand -w 'Every column of the table, every warning and every note'
            cand --wide 'Every column of the table, every warning and every note'
            cand -q 'Print nothing but errors'
            cand --quiet 'Print nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;trace'= {
            cand -n 'What `{n}` becomes [default: the CPU count]'
            cand --env 'Set a variable for the command, `{n}` replaced in its value; NAME alone passes one on as it is'
            cand --input 'Standard input of the command; `-` is that of morecores'
            cand --output 'Where the command''s output goes'
            cand --prepare 'Run this shell line before the run, untraced; `{n}` is replaced in it'
            cand --timeout 'End the run after this long; what it did until then is shown'
            cand --success 'Exit statuses with which the command has not failed [default: 0]'
            cand --cpus 'How many CPUs the run is allotted: a number or `all` [default: all usable]'
            cand --limit 'How it is held to them'
            cand --cpu-list 'Which CPUs: the first ones of this list'
            cand -o 'Keep the trace as a study there; `morecores show` shows it again'
            cand --study 'Keep the trace as a study there; `morecores show` shows it again'
            cand --shell 'Give the command''s words to `/bin/sh -c` as one line'
            cand --thread-env 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and their like to what `{n}` becomes'
            cand --keep 'Leave processes alone that outlive the command'
            cand --syscalls 'Trace every system call with the file, pipe or process that it is about, not only those that block'
            cand --json 'The figures as JSON; their keys are described in docs/format.md'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;show'= {
            cand --json 'The derived view as JSON; its keys are described in docs/format.md'
            cand --csv 'One row a CPU count; of locks one row a lock and contest'
            cand --markdown 'A table and the verdict, for a pull request or an issue'
            cand --hyperfine-json 'In the format of hyperfine --export-json, for scripts that read that'
            cand -w 'Every column of the table, every warning and every note'
            cand --wide 'Every column of the table, every warning and every note'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'morecores;predict'= {
            cand --cpus 'CPU counts to predict: numbers and ranges [default: those of `run --predict`, or 2, 4 and 8 times the largest measured]'
            cand --from 'Measured counts that it may rest on [default: all]'
            cand --price 'Prices of machines by their CPUs, an hour: 2=0.10,16=0.80; adds what a run costs on each'
            cand --memory 'Memory of the machines predicted: 64G [default: what the command had where it was measured]'
            cand --explain 'Also every model, and how far each was off when it was tested'
            cand --json 'As JSON; its keys are described in docs/format.md'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;what-if'= {
            cand --without 'Without this: a lock by a part of its name, a command by its name, `disk`, `serial`'
            cand --faster 'With this command so much faster: `ld=2x`'
            cand --cpus 'On how many CPUs: numbers and ranges [default: the largest measured count and what the traces bear]'
            cand --json 'As JSON; its keys are described in docs/format.md'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;compare'= {
            cand --fail-if 'Exit with status 3 if this holds: a figure at a CPU count, <, <=, > or >=, and a number, or a share of BASE with %; may be given more than once. Figures are the keys of `show --json`: speedup@2, elapsed_s@2, idle_disk@2, traces.waiting_ratio@2'
            cand --at-least 'The smallest relative difference that is called one, in percent, besides noise'
            cand --strict 'Exit with status 3 also where a condition cannot be told: its interval lies on both sides, or there are too few runs'
            cand --json 'As JSON; its keys are described in docs/format.md'
            cand --markdown 'For a comment on a pull request'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;report'= {
            cand -o 'Where to write the page; `-` for standard output [default: report.html; no page with --plot]'
            cand --output 'Where to write the page; `-` for standard output [default: report.html; no page with --plot]'
            cand --plot 'Draw the picture that FILE is called after, as SVG or PNG: `speedup.svg`, `make-stack.png`; may be given several times'
            cand --picture 'Which picture --plot draws, whatever its file is called'
            cand --width 'Width of a picture in pixels; a PNG has twice as many, for sharp screens'
            cand --axes 'Axes of a picture [default: logarithmic where the CPU counts reach to eight times the smallest]'
            cand --dark 'Draw on a dark ground'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;serve'= {
            cand --port 'The port to listen on; 0: any that is free'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;topology'= {
            cand --record 'Write all that was read from the system to FILE (`-` for standard output), to be sent with a bug report'
            cand --from 'Read such a recording instead of this machine'
            cand --json 'As JSON'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;doctor'= {
            cand --quick 'Leave the measurement of noise out, which takes about ten seconds'
            cand --json 'As JSON'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;suite'= {
            cand -o 'Where to keep the studies [default: suite-DATE-TIME here]'
            cand --directory 'Where to keep the studies [default: suite-DATE-TIME here]'
            cand --show 'Run nothing; show the studies that are kept there'
            cand --quick 'Short runs, six of each CPU count: all benchmarks within 3 minutes on a quiet machine with 2 CPUs [the default]'
            cand --full 'Runs of seconds, until each median is known to 1% or for a minute and a half: an hour on 2 CPUs at most'
            cand --resume 'Go on with the suite at -o: benchmarks that have a whole study there are not run again'
            cand --list 'Name the benchmarks and what each is, and end'
            cand --markdown 'The tables in Markdown'
            cand --json 'Everything derived from the studies as JSON; its keys are described in docs/format.md'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;locks'= {
            cand --lock 'Which locks, by name [default: all]'
            cand --threads 'Numbers of threads at the lock [default: powers of two up to twice the usable CPUs]'
            cand --hold 'For how long the lock is held, with units [default: 0,100ns,1us,10us,100us; with --quick 0,1us,100us]'
            cand --think 'How long a thread stays away from the lock: times with units, or `hold`, as long as it held it [default: 0,hold]'
            cand --rounds 'How often each cell is measured; fewer than 6 bear no interval [default: 7; with --quick 6]'
            cand --seed 'Seed of the shuffle [default: from the clock]'
            cand -o 'Where to keep the study [default: locks-DATE-TIME.study here]'
            cand --study 'Where to keep the study [default: locks-DATE-TIME.study here]'
            cand --resume 'Go on with this study; its plan holds, but --rounds may differ'
            cand --quick 'Shorter contests, fewer of them: about a minute on 2 CPUs'
            cand --json 'The derived view as JSON; its keys are described in docs/format.md'
            cand --csv 'One row a CPU count; of locks one row a lock and contest'
            cand --markdown 'A table and the verdict, for a pull request or an issue'
            cand --hyperfine-json 'In the format of hyperfine --export-json, for scripts that read that'
            cand -w 'Every figure with its interval, every warning and every note'
            cand --wide 'Every figure with its interval, every warning and every note'
            cand -q 'Print nothing but errors'
            cand --quiet 'Print nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;tune-spin'= {
            cand --json 'As JSON, with every measurement'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;work'= {
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;generate'= {
            cand -h 'Print help'
            cand --help 'Print help'
            cand man 'One man page for morecores and one for each subcommand'
            cand markdown 'The reference in Markdown'
            cand completions 'Completions for every shell'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'morecores;generate;man'= {
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'morecores;generate;markdown'= {
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'morecores;generate;completions'= {
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'morecores;generate;help'= {
            cand man 'One man page for morecores and one for each subcommand'
            cand markdown 'The reference in Markdown'
            cand completions 'Completions for every shell'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'morecores;generate;help;man'= {
        }
        &'morecores;generate;help;markdown'= {
        }
        &'morecores;generate;help;completions'= {
        }
        &'morecores;generate;help;help'= {
        }
        &'morecores;help'= {
            cand run 'Measure a command on 1, 2, … n CPUs'
            cand trace 'Trace one run of a command, and say where its CPUs went'
            cand show 'Show a study again, of a command or of locks, for people or for programs'
            cand predict 'Predict a command on more CPUs than were measured, or than there are'
            cand what-if 'Say what would be gained if a lock, a command or a disk were not in the way'
            cand compare 'Compare two studies: what changed, what caused it, and whether a condition holds'
            cand report 'Write a report page: one file with every picture and table, to be opened in a browser without a network'
            cand serve 'Show the studies of a directory in a browser on this machine'
            cand topology 'Print the machine and which of its CPUs are usable'
            cand doctor 'Say what this machine can measure, how noisy it is, and what would help'
            cand suite 'Study the classic SMP benchmarks, and show each beside what was published of it'
            cand locks 'Measure locks: what each costs, and which to take when'
            cand tune-spin 'Say how long a lock should spin on this machine before it sleeps, and how that was found'
            cand work 'Run one of the built-in programs once'
            cand generate 'Write the man pages or a shell''s completions, from the same definitions as this help'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'morecores;help;run'= {
        }
        &'morecores;help;trace'= {
        }
        &'morecores;help;show'= {
        }
        &'morecores;help;predict'= {
        }
        &'morecores;help;what-if'= {
        }
        &'morecores;help;compare'= {
        }
        &'morecores;help;report'= {
        }
        &'morecores;help;serve'= {
        }
        &'morecores;help;topology'= {
        }
        &'morecores;help;doctor'= {
        }
        &'morecores;help;suite'= {
        }
        &'morecores;help;locks'= {
        }
        &'morecores;help;tune-spin'= {
        }
        &'morecores;help;work'= {
        }
        &'morecores;help;generate'= {
            cand man 'One man page for morecores and one for each subcommand'
            cand markdown 'The reference in Markdown'
            cand completions 'Completions for every shell'
        }
        &'morecores;help;generate;man'= {
        }
        &'morecores;help;generate;markdown'= {
        }
        &'morecores;help;generate;completions'= {
        }
        &'morecores;help;help'= {
        }
    ]
    $completions[$command]
}
