# Prints the verbs and options as lines of fields separated by TAB. The input is
# guard/cli/verbs.c after the preprocessor: the program itself, which may be
# built for another machine, is not run.
#
#	verb	NAME OTHER WORDS SUMMARY
#	operand	VERB OPERAND
#	option	VERB LETTER NAME VALUE WORDS GROUP HELP
#
# The operands and options of a verb follow its line. A field may be empty.
BEGIN {
	# Where struct option_spec has the fields that are given by name.
	place["words"] = 4
	place["group"] = 5
}

function fail(why) {
	print "guard/cli/verbs.c: " why >"/dev/stderr"
	failed = 1
	exit 1
}

function end_field() {
	field[at++] = value
	value = ""
}

# A blank in brackets, as in "[RUN | SNAP [SNAP]]", separates no operands.
function print_operands(verb, text,    i, n, parts, one) {
	n = split(text, parts, " ")
	for (i = 1; i <= n; i++) {
		one = one (one == "" ? "" : " ") parts[i]
		if (gsub(/\[/, "[", one) == gsub(/]/, "]", one)) {
			print "operand\t" verb "\t" one
			one = ""
		}
	}
}

# Verbs stand behind all options.
function end_entry(    i, n, lines) {
	end_field()
	if (field[0] == "0")
		return
	if (table != "options_verbs") {
		if (field[0] ~ /^OPT_/)
			field[0] = ""
		if (!(field[0] field[1]) || !field[3])
			fail("an option in " table " lacks its name or help")
		rows[table] = rows[table] field[0] "\t" field[1] "\t" field[2] \
			"\t" field[4] "\t" field[5] "\t" field[3] "\n"
		return
	}
	if (!(field[5] in seen))
		fail("the options of " field[0] " are not a table: " field[5])
	verbs++
	print "verb\t" field[0] "\t" field[1] "\t" field[7] "\t" field[3]
	print_operands(field[0], field[2])
	n = split(rows[field[5]], lines, "\n")
	for (i = 1; i < n; i++)
		print "option\t" field[0] "\t" lines[i]
}

function take(token) {
	if (depth == 1 && token == "{") {
		split("", field)
		at = 0
		depth = 2
	} else if (token == "}") {
		if (depth-- == 2)
			end_entry()
	} else if (depth == 2 && token == ",") {
		end_field()
	} else if (depth == 2 && token == ".") {
		named = 1
	} else if (depth == 2 && named && token in place) {
		at = place[token]
		named = 0
	} else if (depth == 2 && token ~ /^["']/) {
		token = substr(token, 2, length(token) - 2)
		gsub(/\\"/, "\"", token)
		value = value token
	} else if (depth == 2 && token ~ /^[A-Za-z_0-9]/) {
		value = value token
	} else if (token !~ /^[=,;]$/) {
		fail("unexpected " token " in " table)
	}
}

!depth && /^(static )?const struct (option_spec|verb) [a-z_]+\[\] = \{$/ {
	table = $(NF - 2)
	sub(/\[\]/, "", table)
	seen[table] = depth = 1
	next
}

depth {
	gsub(/\(\(void ?\*\)0\)/, "") # NULL
	for (line = $0; line != ""; line = substr(line, length(token) + 1)) {
		if (!match(line, /^("([^"\\]|\\.)*"|'[^']+'|[A-Za-z_0-9]+)/))
			RLENGTH = 1
		token = substr(line, 1, RLENGTH)
		if (token != " " && token != "\t")
			take(token)
	}
}

END {
	if (!failed && !verbs)
		fail("no verbs")
}
