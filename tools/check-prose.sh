#!/usr/bin/env bash
# Checks the rules of prose that a program can check (CONTRIBUTING.md, "Words"): no doc comment begins with a question word,
# no line of a comment or a document is longer than 100 columns, no banned word stands anywhere. Prints each place.
#
#     tools/check-prose.sh [FILE...]
set -euo pipefail

cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
if [[ $# -gt 0 ]]; then
    files=("$@")
else
    # What is generated follows from its sources; the changelog and recorded studies are history.
    mapfile -t files < <(git ls-files '*.rs' '*.ts' '*.md' '*.c' '*.h' |
        grep -vE '^(CHANGELOG\.md|docs/reference\.md|viewer/(dist|src/record)/|studies/|fixtures/)')
fi

awk -v banned='bear|bears|lest|mend|mends|mended|mending|whoever|whom|whosoever|anew|thereof|wherein|hence' '
    function report(rule) { printf "%s:%d: %s: %s\n", FILENAME, FNR, rule, $0; found = 1 }
    FNR == 1 { code = 0; before = "" }
    {
        is_markdown = FILENAME ~ /\.md$/
        is_doc = $0 ~ /^[ \t]*(\/\/\/|\/\/!)/
        is_comment = is_doc || $0 ~ /^[ \t]*(\/\/|\*|\/\*)/
        if (is_markdown && $0 ~ /^[ \t]*(```|~~~)/) code = !code
        # Code blocks, tables and lines of one unbroken word (a link) cannot be wrapped.
        is_prose = is_markdown ? !code && $0 !~ /^(    |\||[^ ]*$)/ : is_comment && $0 !~ /\|/
        if (is_prose && length($0) > 100 && $0 !~ /https?:\/\//) report("longer than 100 columns")
        if (is_doc && before !~ /^[ \t]*(\/\/\/|\/\/!)/ && $0 ~ /^[ \t]*\/\/[\/!] (Which|When|How|Whose|Where|Why|Whom|Who|What) /)
            report("begins with a question word")
        words = " " tolower($0) " "
        if ((is_markdown ? !code : is_comment) && match(words, "[^a-z-](" banned ")[^a-z-]"))
            report("banned word")
        before = $0
    }
    END { exit found }
' "${files[@]}"
