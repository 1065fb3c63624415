# greet.sh LANGUAGE NAME: a greeting from the phrase book.
book=${PHRASES:-/opt/greet/phrases.txt}
phrase=$(sed -n "s/^$1=//p" "$book")
[ -n "$phrase" ] || { echo "greet.sh: no phrase for '$1' in $book" >&2; exit 1; }
echo "$phrase" | sed "s/NAME/$2/"
