# shellcheck shell=sh
# shellcheck disable=SC2154,SC2034 # variables of run.sh and table.sh
# The rows of reviewing: guard diff beside git diff of the same content, and
# opening a review. Sourced by run.sh.

# The commit has a pack, as a clone has.
make_repository() {
	git -C "$1" init -q -b main .
	git -C "$1" add -A
	git -C "$1" -c user.name=b -c user.email=b -c gc.auto=0 \
		commit -q --allow-empty -m bench
	git -C "$1" gc -q
}

# Two lines of each file, in two hunks of most; not of the manifests, which are
# judged by their content.
edit_all='find . -type f ! -path "./.git/*" ! -name package.json ! -name LICENSE \
	-exec sed -i "5s/(/((/;40s/$/ +/" {} +'

# make_changed: a run that changes files ($base/changed) or adds files
# ($base/added), and the same content in a work tree of git beside it.
make_changed() {
	[ ! -d "$base/changed" ] || return 0
	mkdir "$base/added"
	"$bin/maketree" -p "$base/changed" "$changed_made"
	"$bin/maketree" -p "$base/packages" "$added_count"
	for name in changed added; do
		make_repository "$base/$name"
		cp -a "$base/$name" "$base/$name-git"
	done
	(cd "$base/changed-git" && sh -c "$edit_all")
	changed_count=$(git -C "$base/changed-git" diff --name-only | wc -l)
	cp -a "$base/packages" "$base/added-git"
	git -C "$base/added-git" add -N .
	made=$(date +%s)
	settle
	git -C "$base/changed-git" status >/dev/null
	git -C "$base/added-git" status >/dev/null
	(cd "$base/changed" && "$guard" run -q -- sh -c "$edit_all")
	(cd "$base/added" && "$guard" run -q -- cp -a "$base/packages" .)
	wipe "$base/packages"
}

# beside_git NAME TEXT FIRST ALL: targets of the first hunk, and of the
# processor time
beside_git() {
	set -- "$1" "$2" "$3" "guard-$1" "git-$1" "$4"
	FIELD=6
	line diff-first "$2, git diff to the first hunk" "$5"
	line diff-first "  guard diff" "$4" "$5" git "$3"
	FIELD=9
	line diff-first "  processor time of all of git diff" "$5"
	line diff-first "  of guard diff" "$4" "$5" git "$6"
	unset FIELD
	fact diff-first "  peak memory of git diff" \
		"$(($(value_of "$5" 8) / 1024))" MB
	fact diff-first "  of guard diff" "$(($(value_of "$4" 8) / 1024))" MB \
		"$(($(value_of "$5" 8) / 1024))"
}

# Nine of ten files are changed.
changed_made=11000
added_count=23000
[ -z "$quick" ] || {
	changed_made=1100
	added_count=2300
}

row_diff_first() {
	have git || { skip diff-first "no git"; return; }
	make_changed
	set --
	for name in changed added; do
		set -- "$@" ${1:+';;'} \
			"guard-$name" -d "$base/$name" -t @@ "$guard" diff ';;' \
			"git-$name" -d "$base/$name-git" -t @@ git diff
	done
	measure 9 120 -w 1 "$@"
	beside_git changed "$changed_count changed files" 1.3 1.5
	beside_git added "$added_count new files" 1.3 1.5
}

# From the start to the list on the screen, and its end by a key that is typed
# before.
row_review_open() {
	have git || { skip review-open "no git"; return; }
	have script || { skip review-open "no script"; return; }
	make_changed
	measure 5 60 -w 1 review -d "$base/changed" env TERM=xterm sh -c \
		"printf q | script -q -c 'stty rows 24 cols 80
			\"$guard\" review' /dev/null; :"
	line review-open "guard review of $changed_count files" review
	fact review-open "  processor time" "$(value_of review 9)" ms \
		$((changed_count / 20))
	fact review-open "  peak memory" "$(($(value_of review 8) / 1024))" MB \
		$((32 + (changed_count * 400 + 999999) / 1000000))
}
