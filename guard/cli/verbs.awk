# Reads the table of verbs and options (verbs.txt, which explains its lines):
#
#	awk -v make=table -f verbs.awk verbs.txt	for docs/*.awk
#	awk -v make=struct -f verbs.awk verbs.txt	struct options
#	awk -v make=source -f verbs.awk verbs.txt	options_verbs[]
#	awk -v make=calls -f verbs.awk verbs.txt	the functions, in its order
#
# The table for the man page and the completions has lines of fields separated
# by TAB; a field may be empty:
#
#	verb	NAME OTHERS WORDS SUMMARY
#	operand	VERB OPERAND
#	option	VERB LETTER NAME VALUE WORDS GROUP HELP
#
# The operands and options of a verb follow its line.

# line: 0 is the one that is read.
function fail(why, line) {
	print "guard/cli/verbs.txt:" (line ? line : FNR) ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

# The text behind so many words.
function after(text, words) {
	while (words-- > 0)
		if (!sub(/^[^ ]+ +/, "", text))
			return ""
	return text
}

# --- reading ---

# "-n --number N" is split into the parts of an option.
function read_head(text,    n, i, part) {
	n = split(text, part, " ")
	line_of[++options] = FNR
	for (i = 1; i <= n; i++) {
		if (part[i] ~ /^(-h|--help)$/ ||
		    (part[i] ~ /^-/ && (verbs, part[i]) in given))
			fail("the option " part[i] " is there already")
		given[verbs, part[i]] = 1
		if (part[i] ~ /^--/)
			name[options] = substr(part[i], 3)
		else if (part[i] ~ /^-.$/)
			letter[options] = substr(part[i], 2)
		else
			value[options] = part[i]
	}
	called[options] = name[options] == "" ? letter[options] : name[options]
	if (called[options] == "")
		fail("an option without a name: " text)
	option_of[verbs, called[options]] = options
	last[verbs] = options
}

# An option without a help text is the common one with this head.
function read_option(text,    at, i, c) {
	at = index(text, ": ")
	read_head(at ? substr(text, 1, at - 1) : text)
	help[options] = at ? substr(text, at + 2) : ""
	if (at && help[options] ~ /^ *$/)
		fail("the help of the option is missing: " text)
	if (at)
		return
	c = option_of[0, called[options]]
	if (c == "" || value[c] != value[options])
		fail("no common option " text)
	help[options] = help[c]
	for (i = 1; i <= facts[c]; i++)
		read_fact(fact[c, i])
}

function read_foreign(text,    at) {
	at = index(text, ": ")
	read_head(substr(text, 1, at - 1))
	text = substr(text, at + 2)
	kind[options] = text ~ /^is -/ ? "SAME" : text ~ /^is refused: / ? \
		"REFUSED" : "UNUSED"
	sub(/^(is --?|is refused: |has no effect: )/, "", text)
	if (text ~ /^ *$/)
		fail("what the option is, is missing")
	help[options] = text
}

function read_fact(text,    n, words) {
	fact[options, ++facts[options]] = text
	n = split(text, words, " ")
	if (text ~ /^(not|needs) /)
		rule[options, ++rules[options]] = text
	else if (words[1] == "list" || words[1] == "size")
		kind[options] = toupper(words[1])
	else if (words[1] == "number" || words[1] == "time")
		read_limits(toupper(words[1]), words, n)
	else if (text ~ /^one of /)
		choices[options] = after(text, 2)
	else if (words[1] == "sets") {
		sets[options] = words[2]
		set_to[options] = words[3]
	} else if (words[1] == "typed")
		for (; n > 1; n--)
			habits = habits "\t{" quoted(words[n]) ", " \
				quoted(called[options]) "},\n"
	else if (text ~ /^(as|bare|complete|group|saved)( |$)/)
		detail[options, words[1]] = n == 1 ? 1 : after(text, 1)
	else
		fail("unknown: " text)
}

# number [LEAST [MOST]] [= DEFAULT]; time [= DEFAULT] [or 0]
function read_limits(what, words, n,    i) {
	kind[options] = what
	initial[options] = what == "NUMBER" ? "~0ul" : "0"
	least[options] = what == "TIME" ? 1 : 0
	most[options] = "LONG_MAX"
	for (i = 2; i <= n; i++)
		if (words[i] == "=")
			initial[options] = words[++i]
		else if (words[i] == "or")
			least[options] = words[++i]
		else if (i == 2)
			least[options] = words[i]
		else
			most[options] = words[i]
}

# One of a verb.
function read_property(text,    n, k, fixed, words) {
	n = split(text, words, " ")
	if (words[1] == "typed") {
		fixed = "NULL"
		if (sub(/ is( |$)/, "\t", text)) {
			split(text, words, "\t")
			fixed = "\"" words[2] "\""
			n = split(words[1], words, " ")
		}
		for (k = 2; k <= n; k++)
			verb_habits = verb_habits "\t{" quoted(words[k]) ", " \
				quoted(verb[verbs]) ", " fixed "},\n"
	}
	else if (words[1] == "also") {
		others[verbs] = others[verbs] (verbs in others ? " " : "") \
			words[2]
		meaning[verbs, words[2]] = substr(words[4], 3)
	} else if (text ~ /^(complete|daily|fails|judges|opens|operands|stops|summary)( |$)/)
		property[verbs, words[1]] = n == 1 ? 1 : after(text, 1)
	else
		fail("unknown: " text)
}

BEGIN {
	verbs = 0
}

/^#/ || /^$/ {
	next
}

$1 == "section" {
	title = after($0, 1)
	next
}

$1 == "paragraph" {
	paragraph = $2
	next
}

$1 == "verb" {
	verb[++verbs] = $2
	usage[verbs] = after($0, 2)
	section[verbs] = title
	title = paragraph = ""
	first[verbs] = options + 1
	last[verbs] = options
	next
}

$1 == "option" {
	read_option(after($0, 1))
	next
}

$1 == "foreign" {
	read_foreign(after($0, 1))
	next
}

$1 == "|" && paragraph != "" {
	paragraphs[paragraph] = paragraphs[paragraph] substr($0, 4) "\n"
	next
}

$1 == "|" && $2 ~ /^@/ {
	about[verbs] = about[verbs] paragraphs[substr($2, 2)]
	next
}

$1 == "|" {
	about[verbs] = about[verbs] substr($0, 4) "\n"
	next
}

/^\t/ {
	parts[1] = substr($0, 2)
	n = $1 == "summary" ? 1 : split(parts[1], parts, "; ")
	for (i = 1; i <= n; i++)
		if (verbs && last[verbs] < first[verbs])
			read_property(parts[i])
		else
			read_fact(parts[i])
	next
}

{
	fail("not a line of the table")
}

# A group of one option excludes nothing: the other one is misspelt.
function check_groups(    v, o, members) {
	for (v = 1; v <= verbs; v++) {
		for (o = first[v]; o <= last[v]; o++)
			if ((o, "group") in detail)
				members[v, detail[o, "group"]]++
		for (o = first[v]; o <= last[v]; o++)
			if ((o, "group") in detail &&
			    members[v, detail[o, "group"]] < 2)
				fail("no other option of " verb[v] " is in " \
					"the group " detail[o, "group"],
					line_of[o])
	}
}

# --- the table ---

# A blank in brackets, as in "[RUN | SNAP [SNAP]]", separates no operands.
function split_operands(text, to,    i, n, count, parts, one) {
	n = split(text, parts, " ")
	for (i = 1; i <= n; i++) {
		one = one (one == "" ? "" : " ") parts[i]
		if (gsub(/\[/, "[", one) == gsub(/]/, "]", one)) {
			to[++count] = one
			one = ""
		}
	}
	return count + 0
}

function print_table(    v, o, n, i, list) {
	for (v = 1; v <= verbs; v++) {
		print "verb\t" verb[v] "\t" others[v] "\t" \
			property[v, "complete"] "\t" property[v, "summary"]
		n = split_operands(usage[v], list)
		for (i = 1; i <= n; i++)
			print "operand\t" verb[v] "\t" list[i]
		for (o = first[v]; o <= last[v]; o++)
			if (!is_foreign(o))
				print "option\t" verb[v] "\t" letter[o] "\t" \
					name[o] "\t" value[o] "\t" \
					((o, "complete") in detail ? \
					detail[o, "complete"] : choices[o]) \
					"\t" detail[o, "group"] "\t" help[o]
	}
}

# --- the struct ---

function is_foreign(o) {
	return kind[o] ~ /^(SAME|UNUSED|REFUSED)$/
}

function kind_of(o) {
	return kind[o] != "" ? kind[o] : choices[o] != "" ? "CHOICE" : \
		value[o] != "" ? "TEXT" : "FLAG"
}

function field_of(o,    field) {
	field = (o, "as") in detail ? detail[o, "as"] : called[o]
	gsub(/-/, "_", field)
	return field
}

function add_field(field, type) {
	if (!(field in type_of)) {
		type_of[field] = type
		order[++fields] = field
	} else if (type_of[field] != type)
		fail(field " is " type_of[field] " and " type)
}

# OPTION_NET_HOST: 1, OPTION_NET_PRIVATE: 2, ...
function number_of(field, word) {
	if (!((field, word) in number)) {
		number[field, word] = ++numbers[field]
		gsub(/[^A-Za-z0-9]/, "_", word)
		constants = constants "\t" toupper("option_" field "_" word) \
			" = " numbers[field] ",\n"
	}
	return number[field, word]
}

function collect_fields(    o, n, i, words) {
	type["FLAG"] = "bool "
	type["TEXT"] = "const char *"
	type["LIST"] = "char **"
	type["NUMBER"] = "unsigned long "
	type["SIZE"] = "uint64_t "
	type["TIME"] = "int64_t "
	type["CHOICE"] = "unsigned int "
	for (o = first[1]; o <= options; o++) {
		if (is_foreign(o))
			continue
		add_field(field_of(o), type[kind_of(o)])
		n = split(choices[o], words, " ")
		for (i = 1; i <= n && kind_of(o) == "CHOICE"; i++)
			number_of(field_of(o), words[i])
		if (sets[o] != "") {
			add_field(sets[o], type["CHOICE"])
			number_of(sets[o], set_to[o])
		}
	}
}

function print_struct(    i, v) {
	print "/* Made of guard/cli/verbs.txt. */"
	print "enum {\n" constants "};\n"
	print "struct options {"
	print "\tconst struct verb *verb;"
	print "\tconst char *typed; /* the name of the verb that was given */"
	print "\tchar **words; /* all arguments, as they were given */"
	print "\tchar **operands; /* ended by NULL */"
	print "\tint count; /* operands */"
	print "\tint dashed; /* operands behind a \"--\" */"
	print "\tstruct option_given *given; /* in their order */"
	print "\tsize_t given_count;"
	for (i = 1; i <= fields; i++)
		print "\t" type_of[order[i]] order[i] ";"
	print "};\n"
	for (v = 1; v <= verbs; v++)
		print "int " function_of(v) \
			"(const struct options *o, struct context *c, " \
			"struct err *err);"
}

function function_of(v,    text) {
	text = "cmd_" verb[v]
	gsub(/-/, "_", text)
	return text
}

# --- the source ---

function quoted(text) {
	if (text == "")
		return "NULL"
	gsub(/["\\]/, "\\\\&", text)
	gsub(/\n/, "\\n", text)
	return "\"" text "\""
}

# "host, private or none"
function any_of(list,    n, i, words, text) {
	n = split(list, words, " ")
	for (i = 1; i <= n; i++)
		text = text (i == 1 ? "" : i < n ? ", " : " or ") words[i]
	return text
}

# The text behind "must be".
function expected(o) {
	if (choices[o] != "")
		return any_of(choices[o])
	if (kind[o] == "SIZE")
		return "a size like 500M or 20G"
	if (kind[o] == "TIME")
		return "a time like 90s, 5m or 2h"
	if (kind[o] == "NUMBER" && most[o] != "LONG_MAX")
		return "a number from " least[o] " to " most[o]
	if (kind[o] == "NUMBER")
		return "a number" (least[o] ? " of at least " least[o] : "")
	if (kind_of(o) == "TEXT" && name[o] != "" &&
	    value[o] ~ /^(DIR|FILE|NAME|PATH)$/)
		return "a name"
	return ""
}

function print_option(o,    n, i, words, text) {
	text = "\t{.letter = " (letter[o] == "" ? 0 : "'" letter[o] "'") \
		", .name = " quoted(name[o]) ", .value = " quoted(value[o]) \
		", .help = " quoted(help[o]) ", .kind = OPTION_" kind_of(o)
	if (!is_foreign(o))
		text = text ", .field = offsetof(struct options, " \
			field_of(o) ")"
	if (choices[o] != "") {
		text = text ", .words = (const char *const[]){"
		n = split(choices[o], words, " ")
		for (i = 1; i <= n; i++)
			text = text quoted(words[i]) ", "
		text = text "NULL}"
	}
	if (sets[o] != "")
		text = text ", .sets = offsetof(struct options, " sets[o] \
			"), .set_to = " number[sets[o], set_to[o]]
	if (kind[o] == "NUMBER" || kind[o] == "TIME")
		text = text ", .initial = " initial[o] ", .least = " least[o] \
			", .most = " most[o]
	if ((o, "bare") in detail)
		text = text ", .bare = " quoted(detail[o, "bare"])
	if (expected(o) != "")
		text = text ", .expected = " quoted(expected(o))
	if ((o, "saved") in detail)
		text = text ", .saved = true"
	print text "},"
}

# The place of an option in the list of its verb, from 1 on.
function place_of(v, text) {
	if (text !~ /^-/)
		return 0 # operands
	sub(/^--?/, "", text)
	if (!((v, text) in option_of))
		fail(verb[v] " has no option " text)
	return option_of[v, text] - first[v] + 1
}

# "not --a --b: why" and "needs --a --b" of option o.
function print_rules(v, o,    i, k, at, n, text, why, words) {
	for (i = 1; i <= rules[o]; i++) {
		text = rule[o, i]
		at = index(text, ": ")
		why = at ? substr(text, at + 2) : ""
		n = split(at ? substr(text, 1, at - 1) : text, words, " ")
		if (words[1] == "needs")
			print "\t{" o - first[v] + 1 ", " place_of(v, words[2]) \
				", " (n > 2 ? place_of(v, words[3]) : 0) \
				", true, NULL, NULL},"
		else
			for (k = 2; k <= n; k++)
				print "\t{" o - first[v] + 1 ", " \
					place_of(v, words[k]) ", 0, false, " \
					quoted(why) ", " quoted(words[k]) "},"
	}
	for (i = first[v]; i < o; i++)
		if ((o, "group") in detail &&
		    detail[i, "group"] == detail[o, "group"])
			print "\t{" i - first[v] + 1 ", " o - first[v] + 1 \
				", 0, false, NULL, NULL},"
}

# How many operands a usage like "SNAP [PATH]" permits.
function count_operands(v,    n, i, k, m, list, parts, words) {
	fewest[v] = most_of[v] = 0
	n = split_operands(usage[v], list)
	for (i = 1; i <= n; i++) {
		if (list[i] ~ /^\[?-/ || list[i] == "|" || list[i - 1] == "|")
			continue
		fewest[v] += list[i] !~ /^\[/
		m = split(list[i], parts, "|")
		k = 0
		for (; m > 0; m--)
			k = max(k, split(parts[m], words, " "))
		most_of[v] = index(list[i], "...") ? 1000000 : most_of[v] + k
	}
	if ((v, "operands") in property) {
		n = split(property[v, "operands"], words, " ")
		fewest[v] = words[1]
		if (n > 1)
			most_of[v] = words[2]
	}
}

function aliases(v,    n, i, words, text) {
	n = split(others[v], words, " ")
	text = "(const struct verb_alias[]){"
	for (i = 1; i <= n; i++)
		text = text "{" quoted(words[i]) ", " \
			quoted(meaning[v, words[i]]) "}, "
	return text "{0}}"
}

function max(a, b) {
	return a > b ? a : b
}

function print_source(    v, o) {
	print "/* Made of guard/cli/verbs.txt. */"
	for (v = 1; v <= verbs; v++) {
		print "static const struct option_spec options_" v "[] = {"
		for (o = first[v]; o <= last[v]; o++)
			print_option(o)
		print "\t{0},\n};\n"
		print "static const struct option_rule rules_" v "[] = {"
		for (o = first[v]; o <= last[v]; o++)
			print_rules(v, o)
		print "\t{0},\n};\n"
	}
	print "const struct verb options_verbs[] = {"
	for (v = 1; v <= verbs; v++) {
		count_operands(v)
		print "\t{.name = " quoted(verb[v]) ", .others = " \
			aliases(v) ", .operands = \"" \
			usage[v] "\", .summary = " \
			quoted(property[v, "summary"]) ", .text = " \
			(about[v] == "" ? "\"\"" : quoted(about[v])) \
			", .section = " quoted(section[v]) \
			", .options = options_" v ", .rules = rules_" v \
			", .fewest = " fewest[v] \
			", .most = " most_of[v] ", .fails = " \
			property[v, "fails"] + 0 ", .stops = " \
			property[v, "stops"] + 0 ", .daily = " \
			property[v, "daily"] + 0 ", .judges = " \
			property[v, "judges"] + 0 ", .opens = OPENS_" \
			((v, "opens") in property ? \
			toupper(property[v, "opens"]) : "NOTHING") "},"
	}
	print "\t{0},\n};\n"
	print "static const struct verb_habit {"
	print "\tconst char *typed, *verb, *fixed; /* or NULL: as typed */"
	print "} verb_habits[] = {"
	print verb_habits "};\n"
	print "static const char *const option_habits[][2] = {"
	print habits "};"
}

function print_calls(    v) {
	print "/* Made of guard/cli/verbs.txt. */"
	for (v = 1; v <= verbs; v++)
		print function_of(v) ","
}

END {
	if (failed)
		exit 1
	check_groups()
	if (make == "table")
		print_table()
	else if (make == "calls")
		print_calls()
	else {
		collect_fields()
		if (make == "struct")
			print_struct()
		else
			print_source()
	}
}
