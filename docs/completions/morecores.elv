
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
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand run 'Measure a command on 1, 2, … n CPUs'
            cand trace 'Trace one run of a command and show where its CPUs went'
            cand show 'Show a study of a command or of locks, or a search of `shake`, as text or for programs'
            cand predict 'Predict a command on more CPUs than were measured, or than exist here'
            cand what-if 'Estimate the speedup from removing a lock or a disk wait, or from making a command faster'
            cand advise 'Say what would make a command faster on more CPUs, by its study'
            cand events 'Print a traced run as a table, for pandas, DuckDB and other programs'
            cand export 'Write a traced run for a viewer of traces, a flame graph or pprof'
            cand compare 'Compare two studies: what changed, what caused it, and whether a condition holds'
            cand report 'Write a report page: one file with every picture and table, for a browser without a network'
            cand serve 'Show the studies of a directory in a browser on this machine'
            cand topology 'Show the CPUs of this machine and which of them are usable'
            cand doctor 'Report what this machine can measure, how noisy it is, and what would help'
            cand suite 'Study the classic SMP benchmarks and show each beside its published results'
            cand locks 'Measure the cost of locks, and advise which to use when'
            cand tune-spin 'Show how long a lock should spin on this machine before it sleeps, with the measurements'
            cand mark 'Mark a program that works only on one CPU, or on a few'
            cand launch 'Start a program on as many CPUs as its mark allows'
            cand generate 'Write the man pages, the reference or the completions, from the definitions of this help'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'morecores;run'= {
            cand --env 'Variable for the command, with `{n}` replaced in its value; NAME alone passes a variable on unchanged'
            cand --input 'File for the command''s standard input; `-` is the input of morecores. A pipe is read once, and every run gets a copy'
            cand --input-limit 'Maximum size of input that can be read only once, for example 512M; larger input is refused [default: 1G]'
            cand --output 'Destination of the command''s output'
            cand --cpus 'CPU counts: numbers, ranges and `all` [default: every count up to 6; powers of two beyond; with --n or --quota: all]'
            cand --n 'Values of `{n}`: numbers and ranges; each is measured on each of the --cpus, by default on all CPUs alone [default: the CPU count]'
            cand --tune 'Find the best of the values of --n with at most a quarter of the runs of all of them: each round leaves out values that are shown to be worse [default with it: --runs 12, --precision 2%]'
            cand --limit 'Mechanism that holds runs to their CPUs'
            cand --quota 'Limits of CPU time to measure, in CPUs as for containers (0.5,1,1.5,2) or in thousandths (500m,1000m); with --limit quota, by default on all CPUs alone'
            cand --placement 'Order in which CPUs are added'
            cand --cpu-list 'CPUs to add, in this order'
            cand --precision 'Stop when the 95% interval of every speedup is within this percentage of the speedup (with one CPU count: of the median); 0 never stops early [default: stop when the answer stands, a yes with 3.3%; 1% with one CPU count]'
            cand -r 'Maximum runs of each CPU count; given alone, stop at the default precision whatever the answer [default: 30]'
            cand --runs 'Maximum runs of each CPU count; given alone, stop at the default precision whatever the answer [default: 30]'
            cand --min-runs 'Minimum runs of each CPU count; with fewer than 6 runs no confidence interval is shown'
            cand --max-time 'Maximum time of the study with warm-up and traced runs, for example 90s or 10m; 0 sets no limit [default: begin only runs that are expected to end within 5m]'
            cand --warmup 'Warm-up runs of each CPU count before the timed runs [default: 1, with --cold 0]'
            cand --timeout 'Maximum time of a run; a run that exceeds it is ended and has failed'
            cand --success 'Exit statuses of successful runs, for example 0,1 for a linter; death by a signal is never a success [default: 0]'
            cand --seed 'Seed of the shuffle and of all resampling [default: from the clock]'
            cand --setup 'Shell line to run once, before the first run'
            cand --prepare 'Shell line to run before every run, with `{n}` replaced'
            cand --cleanup 'Shell line to run once, after the last run'
            cand --remount 'File system to unmount and mount before each run, with --cold'
            cand --metric 'Regular expression for a printed number, to measure instead of the time; its first group is the number. Several metrics need names: the first one decides, all are kept and shown'
            cand --unit 'Unit of the number; NAME=TEXT is the unit of the metric with this name'
            cand --decimal-mark 'Decimal mark of the command''s numbers [default: determined from them; `1,234` alone is refused]'
            cand --trace 'Trace further runs of each CPU count after the timed runs, to show where the CPUs went [default: auto]'
            cand --traced-runs 'Traced runs of each CPU count, in shuffled rounds [default: 3; 1 if a run takes more than 20 s, if the time is too short, or if the traces are large]'
            cand --locks 'Holds of the command''s own locks to trace. `exact` counts each hold of a mutex or reader-writer lock of the C library, which makes each lock some microseconds slower, also for other programs that use the same library during the run'
            cand --predict 'Also trace runs that predict these CPU counts: `{n}` becomes each count, on the existing CPUs [default LIST: 2, 4 and 8 times the largest count]'
            cand --worth 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]'
            cand -o 'Directory of the study [default: NAME-DATE-TIME.study in the current directory]'
            cand --out 'Directory of the study [default: NAME-DATE-TIME.study in the current directory]'
            cand --shell 'Pass the command''s words to `/bin/sh -c` as one line'
            cand --thread-env 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and similar variables to the CPU count'
            cand --expect-n 'Refuse to start if the command contains no `{n}`'
            cand --weak 'Say that the work grows with `{n}`, as one input for each CPU: the answer is then about the work done in the same time (scaled speedup)'
            cand --keep-disturbed 'Count rounds that others disturbed, and do not repeat them. By default, a round is repeated if other programs or the hypervisor took more than a tenth of the CPUs'' time, at most as often as the plan has rounds'
            cand --ignore-failure 'Continue after a failed run, leave it out of every figure, and report the number of failed runs'
            cand --incremental 'Measure an incremental build: continue even if the first run leaves almost no work for the later runs'
            cand --keep 'Do not end processes that outlive the command'
            cand --cold 'Write back and drop the page cache before each run (root)'
            cand --lower-is-better 'Treat the number as a cost, not as a rate'
            cand --syscalls 'Trace every system call with its file, pipe or process, not only the blocking calls'
            cand --debuginfod 'Fetch debug files of stripped programs and libraries from the servers in DEBUGINFOD_URLS, by `debuginfod-find` and after each traced run, for the names of their functions'
            cand --exit-answer 'Exit with the answer as status: 0 yes, 3 no, 4 it cannot be told yet'
            cand --resume 'Continue the study at -o with its own command and plan. These options may differ: --runs, --precision, --keep-disturbed, --max-time, --trace, --traced-runs, --syscalls, --debuginfod, --predict, --success, --ignore-failure, --incremental and --worth. Missing traces are made'
            cand -w 'Show every column of the table, every warning and every note'
            cand --wide 'Show every column of the table, every warning and every note'
            cand -q 'Print only errors'
            cand --quiet 'Print only errors'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;trace'= {
            cand -n 'Value of `{n}` [default: the CPU count]'
            cand --env 'Variable for the command, with `{n}` replaced in its value; NAME alone passes a variable on unchanged'
            cand --input 'File for the command''s standard input; `-` is the input of morecores'
            cand --output 'Destination of the command''s output'
            cand --prepare 'Shell line to run before the run, untraced, with `{n}` replaced'
            cand --timeout 'Maximum time of the run; a run that exceeds it is ended, and its trace so far is shown'
            cand --success 'Exit statuses of a successful run [default: 0]'
            cand --cpus 'Number of CPUs for the run, or `all` [default: all usable]'
            cand --limit 'Mechanism that holds the run to its CPUs'
            cand --quota 'Limit of CPU time, in CPUs as for containers (1.5) or in thousandths (1500m); with --limit quota'
            cand --cpu-list 'CPUs for the run; it gets the first ones of this list'
            cand --locks 'Holds of the command''s own locks to trace. `exact` counts each hold of a mutex or reader-writer lock of the C library, which makes each lock some microseconds slower, also for other programs that use the same library during the run'
            cand -o 'Directory of a study that keeps the trace; `morecores show` shows it again'
            cand --out 'Directory of a study that keeps the trace; `morecores show` shows it again'
            cand --shell 'Pass the command''s words to `/bin/sh -c` as one line'
            cand --thread-env 'Also set OMP_NUM_THREADS, RAYON_NUM_THREADS, GOMAXPROCS and similar variables to the value of `{n}`'
            cand --keep 'Do not end processes that outlive the command'
            cand --syscalls 'Trace every system call with its file, pipe or process, not only the blocking calls'
            cand --debuginfod 'Fetch debug files of stripped programs and libraries from the servers in DEBUGINFOD_URLS, by `debuginfod-find` and after the run, for the names of their functions'
            cand --json 'Print the figures as JSON; docs/format.md describes their keys'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;show'= {
            cand --by 'Show one division of the traced runs'' time in place of the whole report'
            cand --worth 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]'
            cand --json 'Print the derived view as JSON; docs/format.md describes its keys'
            cand --csv 'Print CSV: one row for each CPU count, or for each lock at each point of contention'
            cand --markdown 'Print a table and the verdict in Markdown, for a pull request or an issue'
            cand --hyperfine-json 'Print JSON in the format of hyperfine --export-json, for scripts that read this format'
            cand --bencher 'Print JSON for Bencher (bencher run --adapter json)'
            cand --github-benchmark 'Print JSON for the GitHub action github-action-benchmark'
            cand --openmetrics 'Print text in the format of OpenMetrics, for Prometheus'
            cand -w 'Show every column of the table, every warning and every note'
            cand --wide 'Show every column of the table, every warning and every note'
            cand --exit-answer 'Exit with the answer as status: 0 yes, 3 no, 4 it cannot be told yet'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;predict'= {
            cand --cpus 'CPU counts to predict: numbers and ranges [default: those of `run --predict`, or 2, 4 and 8 times the largest measured count]'
            cand --from 'Measured CPU counts to predict from [default: all]'
            cand --price 'Hourly prices of machines by CPU count: 2=0.10,16=0.80; the output then contains the cost of a run on each'
            cand --memory 'Memory of the predicted machines, for example 64G [default: the memory that the measured command had]'
            cand --explain 'Also show every model and its error in the test'
            cand --json 'Print JSON; docs/format.md describes its keys'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;what-if'= {
            cand --without 'Obstacle to remove: a lock by a part of its name, a command by its name, `disk` or `serial`'
            cand --faster 'Command to make faster, and the factor: `ld=2x`'
            cand --cpus 'CPU counts: numbers and ranges [default: the largest measured count, and those that the traces support]'
            cand --json 'Print JSON; docs/format.md describes its keys'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;advise'= {
            cand --json 'Print JSON; docs/format.md describes its keys'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;events'= {
            cand --trace 'Name of the trace: that of its file in STUDY/traces, without the ending [default: the shown one on the most CPUs]'
            cand --where 'Print only the rows of which a column has this value: COLUMN=VALUE, or with != < <= > >= (repeatable)'
            cand --csv 'Print CSV with a header line [default]'
            cand --json 'Print one JSON object per line'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;export'= {
            cand --to 'Format of the file'
            cand --trace 'Name of the trace: that of its file in STUDY/traces, without the ending [default: the shown one on the most CPUs]'
            cand -o 'File to write; `-` is standard output [default: the name of the study and of the trace, in the current directory]'
            cand --out 'File to write; `-` is standard output [default: the name of the study and of the trace, in the current directory]'
            cand --force 'Replace the file if it exists'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;compare'= {
            cand --fail-if 'Condition for exit status 3 (repeatable): a figure at a CPU count, then <, <=, > or >=, then a number or, with %, a share of BASE. Figures are the keys of `show --json` that have an interval: speedup@2, elapsed_s@2, user_s@2, minor_faults@2. The whole interval must fulfil the condition, so that chance alone fulfils it in at most 2.5% of comparisons'
            cand --at-least 'Minimum relative change that counts as a difference, in percent; it must also exceed the noise'
            cand --strict 'Exit with status 3 also if a condition is undecided: its interval lies on both sides of the limit, or there are too few runs'
            cand --json 'Print JSON; docs/format.md describes its keys'
            cand --markdown 'Print Markdown, for a comment on a pull request'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;report'= {
            cand -o 'File of the page; `-` is standard output [default: report.html; no page with --plot]'
            cand --out 'File of the page; `-` is standard output [default: report.html; no page with --plot]'
            cand --worth 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]'
            cand --plot 'Picture to draw as SVG or PNG (repeatable); the name of FILE selects it: `speedup.svg`, `make-stack.png`'
            cand --picture 'Picture that --plot draws, whatever the name of its FILE'
            cand --width 'Width of a picture in pixels; a PNG has twice as many pixels, for sharp screens'
            cand --axes 'Axes of a picture [default: logarithmic if the largest CPU count is at least eight times the smallest]'
            cand --dark 'Draw on a dark background'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;serve'= {
            cand --port 'Port to listen on; 0 chooses a free port'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;topology'= {
            cand --record 'Write all data read from the system to FILE (`-` for standard output), for a bug report'
            cand --from 'Read FILE, made by --record, instead of this machine'
            cand --json 'Print JSON'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;doctor'= {
            cand --report 'Write versions, findings and the last log to FILE for a bug report, without names of hosts, users and homes; `-` is standard output [default FILE: morecores-report.txt]'
            cand --quick 'Skip the measurements of noise and memory, which take about twelve seconds'
            cand --json 'Print JSON'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;suite'= {
            cand -o 'Directory of the studies [default: suite-DATE-TIME in the current directory]'
            cand --out 'Directory of the studies [default: suite-DATE-TIME in the current directory]'
            cand --show 'Directory of a suite to show; nothing is run'
            cand --worth 'Smallest share of a CPU that an added CPU must bring to be worth it, above 0 and up to 1 [default: that of the study, or 0.25]'
            cand --quick 'Make six short runs of each CPU count: all benchmarks within 3 minutes on a quiet machine with 2 CPUs [the default]'
            cand --full 'Make runs of several seconds, until each speedup is known to 1% or for a minute and a half: at most an hour on 2 CPUs'
            cand --resume 'Continue the suite at -o; benchmarks with a complete study are not run again'
            cand --list 'List the benchmarks with their descriptions, and exit'
            cand --markdown 'Print the tables in Markdown'
            cand --json 'Print all derived figures as JSON; docs/format.md describes their keys'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;locks'= {
            cand --lock 'Names of the locks [default: all]'
            cand --threads 'Numbers of threads that use the lock [default: powers of two up to twice the usable CPUs]'
            cand --hold 'Hold times of the lock, with units [default: 0,100ns,1us,10us,100us; with --quick 0,1us,100us]'
            cand --think 'Times that a thread spends away from the lock, with units; `hold` equals the hold time [default: 0,hold]'
            cand -r 'Number of rounds; with fewer than 6 rounds no confidence interval is shown [default: 7; with --quick 6]'
            cand --runs 'Number of rounds; with fewer than 6 rounds no confidence interval is shown [default: 7; with --quick 6]'
            cand --seed 'Seed of the shuffle [default: from the clock]'
            cand -o 'Directory of the study [default: locks-DATE-TIME.study in the current directory]'
            cand --out 'Directory of the study [default: locks-DATE-TIME.study in the current directory]'
            cand --quick 'Measure fewer cells for a shorter time: about a minute on 2 CPUs'
            cand --resume 'Continue the study at -o with its own plan; only --runs may differ'
            cand --json 'Print the derived view as JSON; docs/format.md describes its keys'
            cand --csv 'Print CSV: one row for each CPU count, or for each lock at each point of contention'
            cand --markdown 'Print a table and the verdict in Markdown, for a pull request or an issue'
            cand --hyperfine-json 'Print JSON in the format of hyperfine --export-json, for scripts that read this format'
            cand --bencher 'Print JSON for Bencher (bencher run --adapter json)'
            cand --github-benchmark 'Print JSON for the GitHub action github-action-benchmark'
            cand --openmetrics 'Print text in the format of OpenMetrics, for Prometheus'
            cand -w 'Show every figure with its interval, every warning and every note'
            cand --wide 'Show every figure with its interval, every warning and every note'
            cand -q 'Print only errors'
            cand --quiet 'Print only errors'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;tune-spin'= {
            cand --json 'Print JSON with every measurement'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;mark'= {
            cand --cpus 'Mark the programs for at most N CPUs'
            cand --enforce-part 'A process behind `--enforce`'
            cand --clear 'Remove the marks of the programs'
            cand --renew 'Mark all programs of the list again whose files were replaced'
            cand --enforce 'Keep marked programs on few CPUs at every start in the system, until Ctrl-C (root)'
            cand --cpuset 'Enforce by cpusets of cgroup version 1, which a program cannot leave, instead of the CPU affinity'
            cand --json 'Print JSON'
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;launch'= {
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'morecores;generate'= {
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help'
            cand --help 'Print help'
            cand man 'Write one man page for morecores and one for each subcommand'
            cand markdown 'Write the reference in Markdown'
            cand completions 'Write the completions for every shell'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'morecores;generate;man'= {
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'morecores;generate;markdown'= {
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'morecores;generate;completions'= {
            cand -v 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand --verbose 'Print events to standard error: -v limits, cgroups and sources, -vv also hooks and changes to the system; MORECORES_LOG=debug does the same (docs/recipes.md, "Report a bug")'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'morecores;generate;help'= {
            cand man 'Write one man page for morecores and one for each subcommand'
            cand markdown 'Write the reference in Markdown'
            cand completions 'Write the completions for every shell'
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
            cand trace 'Trace one run of a command and show where its CPUs went'
            cand show 'Show a study of a command or of locks, or a search of `shake`, as text or for programs'
            cand predict 'Predict a command on more CPUs than were measured, or than exist here'
            cand what-if 'Estimate the speedup from removing a lock or a disk wait, or from making a command faster'
            cand advise 'Say what would make a command faster on more CPUs, by its study'
            cand events 'Print a traced run as a table, for pandas, DuckDB and other programs'
            cand export 'Write a traced run for a viewer of traces, a flame graph or pprof'
            cand compare 'Compare two studies: what changed, what caused it, and whether a condition holds'
            cand report 'Write a report page: one file with every picture and table, for a browser without a network'
            cand serve 'Show the studies of a directory in a browser on this machine'
            cand topology 'Show the CPUs of this machine and which of them are usable'
            cand doctor 'Report what this machine can measure, how noisy it is, and what would help'
            cand suite 'Study the classic SMP benchmarks and show each beside its published results'
            cand locks 'Measure the cost of locks, and advise which to use when'
            cand tune-spin 'Show how long a lock should spin on this machine before it sleeps, with the measurements'
            cand mark 'Mark a program that works only on one CPU, or on a few'
            cand launch 'Start a program on as many CPUs as its mark allows'
            cand generate 'Write the man pages, the reference or the completions, from the definitions of this help'
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
        &'morecores;help;advise'= {
        }
        &'morecores;help;events'= {
        }
        &'morecores;help;export'= {
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
        &'morecores;help;mark'= {
        }
        &'morecores;help;launch'= {
        }
        &'morecores;help;generate'= {
            cand man 'Write one man page for morecores and one for each subcommand'
            cand markdown 'Write the reference in Markdown'
            cand completions 'Write the completions for every shell'
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
