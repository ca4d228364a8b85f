#!/usr/bin/env bash
# Checks the rules of prose that a program can check (CONTRIBUTING.md, "Words"): no doc comment
# begins with a question word, no line of a comment or a document is longer than 100 columns, no
# banned word or first person appears in a comment, a message or a document, and no Rust function
# is named `of`.
# Checks too that every file exists that a document names in backquotes. Prints each place.
#
#     tools/check-prose.sh [FILE...]
set -euo pipefail

cd "$(dirname "$0")/.."
if [[ $# -gt 0 ]]; then
    files=("$@")
else
    # Generated files and recorded results follow from their sources.
    mapfile -t files < <(git ls-files '*.rs' '*.ts' '*.mjs' '*.css' '*.md' '*.c' '*.h' '*.sh' \
        '*.py' '*.pl' '*.rb' '*.awk' '*.toml' '*.yml' '*.supp' .ci/run Makefile tools/packages |
        grep -vE '^(docs/reference\.md|viewer/(dist|src/record)/|studies/.*/tables\.md|fixtures/)')
fi

perl -CSD -ne '
    BEGIN {
        $banned = qr/\b(?:bears?|lest|mend(?:s|ed|ing)?|who(?:m|ever|msoever|soever)|anew|thereof|thereby|wherein|whereby|whence|hence|whilst|ought|upon|shall)\b/i;
        $first_person = qr/\b(?:[Ww]e|[Oo]urs?)\b/;
        $path = qr{`((?:crates|docs|fixtures|fuzz|studies|tools|viewer)/[\w./-]+)`};
        $question = qr/^\s*\/\/[\/!] (?:Which|When|How|Whose|Where|Why|Whom|Who|What)\b/;
    }
    if ($. == 1) {
        ($code, $doc_before, $markdown) = (0, 0, scalar $ARGV =~ /\.md$/);
        $hash = $ARGV =~ m{\.(?:sh|py|pl|rb|awk|toml|yml|supp)$|^(?:\.ci/run|Makefile|tools/packages)$};
    }
    chomp;
    sub report { printf "%s:%d: %s: %s\n", $ARGV, $., $_[0], $_; $found = 1 }
    $doc = m{^\s*//[/!]};
    $comment = $hash ? /^\s*#/ : $doc || m{^\s*(?://|/\*|\*[ /]|\*$)};
    $code = !$code if $markdown && /^\s*(?:```|~~~)/;
    # Code blocks, tables and links cannot be wrapped.
    $prose = $markdown ? !$code && !/^(?:    |\||\S*$)/ : $comment && !/\|/;
    report("longer than 100 columns") if $prose && length > 100 && !m{https?://};
    report("begins with a question word") if $doc && !$doc_before && /$question/;
    report("banned word") if !$code && !/= qr/ && /$banned/;
    report("first person") if $prose && s/`[^`]*`//gr =~ $first_person;
    report("function named `of`") if $ARGV =~ /\.rs$/ && /\bfn of\b/;
    if ($markdown) {
        # NAME in a path is a placeholder.
        -e $1 || $1 =~ /NAME/ || report("no file $1") while /$path/g;
    }
    $doc_before = $doc;
    if (eof) { close ARGV }
    END { exit($found ? 1 : 0) }
' "${files[@]}"
