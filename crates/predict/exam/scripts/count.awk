# Counts the different words.
{ for (i = 1; i <= NF; i++) count[$i]++ }
END { print length(count) }
