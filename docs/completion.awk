# Puts the verbs and options into the completion of a shell: the line "@verbs@"
# of a template is replaced.
#
#	awk -v shell=bash|fish|zsh -f completion.awk TABLE completion.SHELL
#
# TABLE is the output of guard/cli/verbs.awk. The value of an option and the operands of a
# verb are completed by a list of kinds: RUN, SNAP, TRASH (a snapshot in the
# trash), NAME (of an agent), CMD, FILE, DIR, VARIABLE, UID; any other word
# stands for itself. A function of each template completes such a list.
BEGIN {
	FS = "\t"
	split("RUN SNAP TRASH NAME CMD FILE DIR VARIABLE UID", list, " ")
	for (i in list)
		kind[list[i]] = list[i]
	kind["PATH"] = kind["PATHS"] = kind["GLOB"] = "FILE"
	kind["WHEN"] = "SNAP"
}

# The kinds that a text of the table names. What may follow a ':' or '=', as in
# SNAP[:PATH], is not completed.
function kinds_of(text,    i, n, words, found) {
	gsub(/\[[:=][^]]*\]/, "", text)
	n = split(text, words, /[][ \t|.]+/)
	for (i = 1; i <= n; i++) {
		if (words[i] in kind)
			words[i] = kind[words[i]]
		else if (words[i] !~ /^[a-z0-9]/)
			continue
		if (!index(" " found " ", " " words[i] " "))
			found = joined(found, words[i])
	}
	return found
}

function joined(list, word) {
	return list (list == "" || word == "" ? "" : " ") word
}

function quoted(text) {
	gsub(/'/, shell == "fish" ? "\\'" : "'\\''", text)
	return "'" text "'"
}

# --- bash ---

function bash(    n, o, list) {
	print "declare -gA _guard_options=("
	for (n = 1; n <= names; n++) {
		list = ""
		for (o = first[of[n]]; o <= last[of[n]]; o++)
			list = joined(list, joined(short[o], long[o]))
		print "\t[" name[n] "]=" quoted(joined(list, "-h --help"))
	}
	print ")"
	print "declare -gA _guard_operands=("
	for (n = 1; n <= names; n++)
		print "\t[" name[n] "]=" quoted(operands[of[n]])
	print ")"
	# The value of --name[=VALUE] stands behind '=' only.
	print "declare -gA _guard_values=("
	for (n = 1; n <= names; n++)
		for (o = first[of[n]]; o <= last[of[n]]; o++) {
			if (value[o] != "" && short[o] != "")
				bash_value(name[n] " " short[o], o)
			if (value[o] != "" && long[o] != "")
				bash_value(name[n] " " long[o] equals[o], o)
		}
	print ")"
}

function bash_value(key, o) {
	print "\t[" quoted(key) "]=" quoted(words[o])
}

# --- fish ---

function fish(    n, o, count, verb, parts) {
	for (n = 1; n <= names; n++)
		print "complete -c guard -f -n __fish_use_subcommand -a " \
			name[n] " -d " quoted(summary[of[n]])
	for (n = 1; n <= names; n++) {
		verb = "complete -c guard -n '__fish_seen_subcommand_from " \
			name[n] "'"
		for (o = first[of[n]]; o <= last[of[n]]; o++)
			print verb fish_option(o)
		if (!has_files(operands[of[n]]))
			print verb " -f"
		count = split(operands[of[n]], parts, " ")
		for (o = 1; o <= count; o++)
			if (!has_files(parts[o]))
				print verb fish_words(parts[o]) " -d " \
					tolower(parts[o])
	}
}

# fish completes files by itself.
function has_files(list) {
	return (" " list " ") ~ / (CMD|FILE) /
}

function fish_words(list) {
	return list == "" ? "" : " -a '(__guard_complete " list ")'"
}

function fish_option(o,    text) {
	if (short[o] != "")
		text = " -s " substr(short[o], 2)
	if (long[o] != "")
		text = text " -l " substr(long[o], 3)
	if (has_files(words[o]))
		text = text " -r"
	else if (value[o] != "")
		text = text (equals[o] ? " -f" : " -x") fish_words(words[o])
	return text " -d " quoted(help[o])
}

# --- zsh ---

function zsh(    n, o) {
	print "_guard_verbs() {\n\tlocal -a verbs\n\tverbs=("
	for (n = 1; n <= names; n++)
		print "\t\t" quoted(name[n] ":" summary[of[n]])
	print "\t)\n\t_describe -t verbs verb verbs\n}\n"
	print "_guard_arguments() {\n\tcase $1 in"
	for (n = 1; n <= names; n++) {
		print "\t" name[n] ")\n\t\t_arguments \\"
		for (o = first[of[n]]; o <= last[of[n]]; o++)
			print "\t\t\t" zsh_option(of[n], o) " \\"
		zsh_operands(of[n])
		print "\t\t\t'(- *)'{-h,--help}'[list the options]'\n\t\t;;"
	}
	print "\tesac\n}"
}

# An option excludes itself by its other name, and the others of its group; one
# that may be given several times is not excluded.
function zsh_option(v, o,    i, list, both, text) {
	for (i = first[v]; i <= last[v]; i++)
		if (i == o || (group[o] != "" && group[i] == group[o]))
			list = joined(list, joined(short[i], long[i]))
	list = list ~ / / ? "'(" list ")'" : ""
	if (value[o] ~ /^(PATH|TAG|GLOB|PORTS|WHAT|NAME\[.*)$/)
		list = "'*'"
	both = joined(short[o], long[o])
	text = help[o]
	gsub(/[][\\:]/, "\\\\&", text)
	text = "[" text "]"
	if (value[o] != "")
		text = (equals[o] ? "=-" text ":" : text) ":" \
			zsh_value(value[o], words[o])
	if (sub(/ /, ",", both))
		return list "{" both "}" quoted(text)
	return list quoted(both text)
}

# The name of a value, and what completes it.
function zsh_value(text, list) {
	gsub(/[^A-Z]+/, " ", text)
	sub(/^ /, "", text)
	sub(/ .*/, "", text)
	return tolower(text) ":" (list == "" ? "" : " _guard_complete " list)
}

# In the place of an operand that may be missing, the next ones may stand.
function zsh_operands(v,    i, count, parts, at, list) {
	count = split(operand[v], parts, "\t")
	for (i = 1; i <= count; i++) {
		if (parts[i] ~ /^\[?--/)
			continue
		at = parts[i] ~ /\.\.\./ ? "*" : at + 1
		list = special[v] == "" ? kinds_of(parts[i]) : special[v]
		if (parts[i] ~ /^\[/ && i < count && parts[i + 1] != "--") {
			at = "*"
			list = operands[v]
		}
		print "\t\t\t" (list == "CMD" ? "'*::command:_normal'" : \
			quoted(at ":" zsh_value(parts[i], list))) " \\"
		if (at == "*" || list == "CMD")
			return
	}
}

# --- the table and the template ---

NR == FNR && $1 == "verb" {
	name[++names] = $2
	of[names] = ++verbs
	for (i = split($3, others, " "); i > 0; i--) {
		name[++names] = others[i]
		of[names] = verbs
	}
	special[verbs] = kinds_of($4)
	operands[verbs] = special[verbs]
	summary[verbs] = $5
	first[verbs] = options + 1
}

NR == FNR && $1 == "operand" {
	operand[verbs] = operand[verbs] (operand[verbs] == "" ? "" : "\t") $3
	if (special[verbs] == "")
		operands[verbs] = kinds_of(operand[verbs])
}

NR == FNR && $1 == "option" {
	short[++options] = $3 == "" ? "" : "-" $3
	long[options] = $4 == "" ? "" : "--" $4
	value[options] = $5
	equals[options] = $5 ~ /^\[/ ? "=" : ""
	words[options] = kinds_of($6 == "" ? $5 : $6)
	group[options] = $7
	help[options] = $8
}

NR == FNR {
	last[verbs] = options
	next
}

$0 == "@verbs@" {
	if (shell == "bash")
		bash()
	else if (shell == "fish")
		fish()
	else
		zsh()
	next
}

{
	print
}
