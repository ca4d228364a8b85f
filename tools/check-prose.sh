#!/usr/bin/env bash
# Checks the rules of prose that a program can check (CONTRIBUTING.md, "Words"): no doc comment
# begins with a question word, no line of a comment or a document is longer than 100 columns, and no
# banned word appears anywhere. Prints each place.
#
#     tools/check-prose.sh [FILE...]
set -euo pipefail

cd "$(dirname "$0")/.."
if [[ $# -gt 0 ]]; then
    files=("$@")
else
    # Generated files follow from their sources; recorded studies are history.
    mapfile -t files < <(git ls-files '*.rs' '*.ts' '*.md' '*.c' '*.h' |
        grep -vE '^(docs/reference\.md|viewer/(dist|src/record)/|studies/|fixtures/)')
fi

perl -CSD -ne '
    BEGIN {
        $banned = qr/\b(?:bears?|lest|mend(?:s|ed|ing)?|who(?:m|ever|msoever|soever)|anew|thereof|wherein|hence)\b/i;
        $question = qr/^\s*\/\/[\/!] (?:Which|When|How|Whose|Where|Why|Whom|Who|What)\b/;
    }
    if ($. == 1) { ($code, $doc_before, $markdown) = (0, 0, scalar $ARGV =~ /\.md$/) }
    chomp;
    sub report { printf "%s:%d: %s: %s\n", $ARGV, $., $_[0], $_; $found = 1 }
    $doc = m{^\s*//[/!]};
    $comment = $doc || m{^\s*(?://|/\*|\*[ /]|\*$)};
    $code = !$code if $markdown && /^\s*(?:```|~~~)/;
    # Code blocks, tables and links cannot be wrapped.
    $prose = $markdown ? !$code && !/^(?:    |\||\S*$)/ : $comment && !/\|/;
    report("longer than 100 columns") if $prose && length > 100 && !m{https?://};
    report("begins with a question word") if $doc && !$doc_before && /$question/;
    report("banned word") if ($markdown ? !$code : $comment) && /$banned/;
    $doc_before = $doc;
    if (eof) { close ARGV }
    END { exit($found ? 1 : 0) }
' "${files[@]}"
