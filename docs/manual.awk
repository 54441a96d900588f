# Makes the man page of the table of verbs and options and the text of
# guard.1.in:
#
#	awk -f manual.awk TABLE guard.1.in
#
# TABLE is the output of guard/cli/verbs.awk. Macros of the text that are replaced:
#
#	.Synopsis	the synopsis of each verb
#	.Options VERBS	begins the list of the options of these verbs
#	.Option NAMES	begins the text about options; names without dashes
#	.End		ends the list
#
# The list has the options in the order of the table, with their names and
# values. The texts between an .Options without verbs and its .End are those of
# all options that have no text in the list of their verb. An option without a
# text, and a text without an option, are errors.
BEGIN {
	FS = "\t"
	# More options than a terminal has lines are not in the synopsis.
	most = 24
}

function fail(why) {
	print "docs/guard.1.in: " why >"/dev/stderr"
	failed = 1
	exit 1
}

function dashed(name) {
	return (length(name) == 1 ? "-" : "--") name
}

# --- the synopsis ---

# "snap[:path]" or "name[=value]": a part that may follow.
function with_parts(text,    sign) {
	if (match(text, /\[[:=]/)) {
		sign = substr(text, RSTART + 1, 1)
		text = substr(text, 1, RSTART - 1) " Ns Op " \
			(sign == ":" ? "\\&" : "") sign " Ns Ar " \
			substr(text, RSTART + 2)
		sub(/]$/, "", text)
	}
	return text
}

function flag(o, name,    text) {
	text = tolower(value[o])
	if (text ~ /^\[/)
		text = " Ns Op = Ns Ar " substr(text, 2, length(text) - 2)
	else if (text != "")
		text = " Ar " with_parts(text)
	return "Fl " name text
}

# An operand such as "[PATHS...]" or "[RUN | SNAP [SNAP]]".
function operand(text,    macro) {
	macro = "."
	if (sub(/^\[/, "", text)) {
		macro = ".Op "
		sub(/]$/, "", text)
	}
	if (sub(/^--/, "Fl -", text))
		return macro text
	text = with_parts(tolower(text))
	sub(/s?\.\.\.$/, " ...", text)
	gsub(/ ?\| ?/, " | ", text)
	if (sub(/ \[/, " Op Ar ", text))
		sub(/]$/, "", text)
	return macro "Ar " text
}

function brief(o) {
	return short[o] == "" ? "-" long[o] : short[o]
}

# Letters without a value stand together, and options that exclude each other.
function synopsis(v,    o, i, letters, line, lines) {
	for (o = first[v]; o <= last[v]; o++) {
		if (short[o] != "" && value[o] == "") {
			letters = letters short[o]
			continue
		}
		if ((v, group[o]) in shown ||
		    index(operands[v], ".Fl -" called[o] "\n"))
			continue
		if (group[o] != "")
			shown[v, group[o]] = 1
		line = flag(o, brief(o))
		for (i = o + 1; i <= last[v] && group[o] != ""; i++)
			if (group[i] == group[o])
				line = line " | " flag(i, brief(i))
		lines = lines ".Op " line "\n"
	}
	if (last[v] - first[v] >= most)
		lines = ".Op Ar options\n"
	else if (letters != "")
		lines = ".Op Fl " letters "\n" lines
	printf ".Nm\n.Cm %s\n%s%s", verb[v], lines, operands[v]
}

# --- the lists ---

# Both names of an option, with its value.
function head(o) {
	if (long[o] == "")
		return flag(o, short[o])
	return (short[o] == "" ? "" : "Fl " short[o] " , ") flag(o, "-" long[o])
}

# Prints the list of a verb. The texts of the list are in text[LIST, NAME]; that
# of several options is with the first of them.
function print_list(v,    o, i, from, lead, count, names, line, done) {
	print ".Bl -tag -width Ds"
	for (o = first[v]; o <= last[v]; o++) {
		from = (list, called[o]) in leader ? list : "all"
		lead = leader[from, called[o]]
		if (lead == "")
			fail("no text about " dashed(called[o]) " of guard " \
				list)
		used[from, called[o]] = 1
		if (lead in done)
			continue
		done[lead] = 1
		line = ".It"
		count = split(sharing[from, lead], names, " ")
		for (i = 1; i <= count; i++)
			line = line (i > 1 ? " , " : " ") head(at[v, names[i]])
		print line
		printf "%s", text[from, lead]
	}
	print ".El"
}

function begin_text(    i) {
	name = $2
	for (i = 2; i <= NF; i++) {
		if ((list, $i) in leader)
			fail("two texts about " dashed($i) " of guard " list)
		if (list != "all" && !((of[list], $i) in at))
			fail("guard " list " has no option " dashed($i))
		leader[list, $i] = name
		sharing[list, name] = sharing[list, name] " " $i
	}
}

# --- the table ---

NR == FNR && $1 == "verb" {
	verb[++verbs] = $2
	for (i = split($3, others, " "); i > 0; i--)
		verb[verbs] = verb[verbs] " | " others[i]
	of[$2] = verbs
	first[verbs] = options + 1
}

NR == FNR && $1 == "operand" {
	operands[verbs] = operands[verbs] operand($3) "\n"
}

NR == FNR && $1 == "option" {
	short[++options] = $3
	long[options] = $4
	called[options] = $4 == "" ? $3 : $4
	value[options] = $5
	group[options] = $7
	at[verbs, called[options]] = options
}

NR == FNR {
	last[verbs] = options
	next
}

# --- the text ---

FNR == 1 {
	FS = " "
	$0 = $0
}

$1 == ".Synopsis" {
	for (i = 1; i <= verbs; i++)
		synopsis(i)
	next
}

$1 == ".Options" {
	if (list != "")
		fail("no .End of .Options " list)
	list = NF == 1 ? "all" : $2
	name = ""
	for (i = 2; i <= NF; i++)
		if ($i in of)
			listed[of[$i]] = of[list]
		else
			fail("no verb " $i)
	next
}

$1 == ".Option" {
	begin_text()
	next
}

$1 == ".End" {
	if (list in of)
		print_list(of[list])
	list = ""
	next
}

list != "" {
	if (name == "")
		fail("text in .Options " list " before its first .Option")
	text[list, name] = text[list, name] $0 "\n"
	next
}

{
	print
}

END {
	if (failed)
		exit 1
	for (i = 1; i <= verbs; i++)
		for (o = first[i]; o <= last[i]; o++)
			if (!((listed[i], called[o]) in at))
				fail(dashed(called[o]) " of guard " verb[i] \
					" is in no .Options")
	for (i in leader)
		if (!(i in used)) {
			split(i, pair, SUBSEP)
			fail("no verb has the option " dashed(pair[2]))
		}
}
