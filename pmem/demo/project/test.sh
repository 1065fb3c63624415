# test.sh: greet speaks every language that we promise.
book=${PHRASES:-/opt/greet/phrases.txt}
[ -f "$book" ] || { echo "test.sh: cannot open $book: No such file or directory" >&2; exit 2; }
for language in en fr ko; do
  sh greet.sh "$language" Mina >/dev/null || { echo "FAILED: $language" >&2; exit 1; }
done
echo "passed: en fr ko"
