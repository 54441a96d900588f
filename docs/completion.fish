# Completion of guard for fish. The names of verbs and options are held equal
# to what guard says of itself by a test; runs and snapshots are asked for.

function __guard_snapshots
	echo latest
	guard log --no-pager 2>/dev/null | string match -r '^[0-9]+'
end

complete -c guard -n __fish_use_subcommand -s C -r -a '(__fish_complete_directories)' -d 'as if started there'
complete -c guard -n __fish_use_subcommand -l version -d 'print the version'
complete -c guard -s h -l help -d 'help'
complete -c guard -f -n __fish_use_subcommand -a run -d "run a command in a layer"
complete -c guard -f -n __fish_use_subcommand -a status -d "show the runs that wait for a decision"
complete -c guard -f -n __fish_use_subcommand -a list -d "show the runs that wait for a decision"
complete -c guard -f -n __fish_use_subcommand -a diff -d "show what a run changed, or snapshots"
complete -c guard -f -n __fish_use_subcommand -a review -d "go through a run's changes and apply what you accept"
complete -c guard -f -n __fish_use_subcommand -a apply -d "take changes over into the real files"
complete -c guard -f -n __fish_use_subcommand -a commit -d "take changes over into the real files"
complete -c guard -f -n __fish_use_subcommand -a discard -d "drop a run's changes"
complete -c guard -f -n __fish_use_subcommand -a import -d "bring a run's commits into your repository"
complete -c guard -f -n __fish_use_subcommand -a undo -d "take the last action back"
complete -c guard -f -n __fish_use_subcommand -a snapshot -d "store the project as it is now"
complete -c guard -f -n __fish_use_subcommand -a log -d "list snapshots or versions"
complete -c guard -f -n __fish_use_subcommand -a find -d "find a path in what is stored"
complete -c guard -f -n __fish_use_subcommand -a grep -d "search the text of what is stored"
complete -c guard -f -n __fish_use_subcommand -a ls -d "list a folder of a snapshot"
complete -c guard -f -n __fish_use_subcommand -a show -d "print a file of a snapshot"
complete -c guard -f -n __fish_use_subcommand -a restore -d "bring stored files back"
complete -c guard -f -n __fish_use_subcommand -a verify -d "check that the store is whole"
complete -c guard -f -n __fish_use_subcommand -a prune -d "take old snapshots away"
complete -c guard -f -n __fish_use_subcommand -a purge -d "remove a leaked secret from all that is stored"
complete -c guard -f -n __fish_use_subcommand -a pin -d "let no prune take a snapshot"
complete -c guard -f -n __fish_use_subcommand -a unpin -d "let prune take a pinned one again"
complete -c guard -f -n __fish_use_subcommand -a undelete -d "bring back what prune took away"
complete -c guard -f -n __fish_use_subcommand -a du -d "show what guard takes up"
complete -c guard -f -n __fish_use_subcommand -a patch -d "print changes as a patch for git"
complete -c guard -f -n __fish_use_subcommand -a repair -d "mend a damaged store"
complete -c guard -f -n __fish_use_subcommand -a doctor -d "say what of the fence this machine has"
complete -c guard -n '__fish_seen_subcommand_from doctor' -l json -d "print JSON"

complete -c guard -n '__fish_seen_subcommand_from run' -l ro -r -d "let a hidden path be read"
complete -c guard -n '__fish_seen_subcommand_from run' -l rw -r -d "let a real path be written (stored first)"
complete -c guard -n '__fish_seen_subcommand_from run' -s C -r -d "the project around DIR, and start there"
complete -c guard -n '__fish_seen_subcommand_from run' -l hide -r -d "hide one path more"
complete -c guard -n '__fish_seen_subcommand_from run' -l env -r -d "pass a variable of the environment"
complete -c guard -n '__fish_seen_subcommand_from run' -l net -r -f -a 'host none' -d "host (default) or none"
complete -c guard -n '__fish_seen_subcommand_from run' -l nested -d "let sandboxes work inside"
complete -c guard -n '__fish_seen_subcommand_from run' -l timeout -r -d "end it after 30s, 5m, 2h"
complete -c guard -n '__fish_seen_subcommand_from run' -l pids-limit -r -d "at most N processes"
complete -c guard -n '__fish_seen_subcommand_from run' -l allow -x -a "perf io_uring userfaultfd 32bit" -d "allow some calls"
complete -c guard -n '__fish_seen_subcommand_from run' -l strict -d "no network, an empty home, small limits"
complete -c guard -n '__fish_seen_subcommand_from run' -l memory -r -d "at most 512m, 2g of memory"
complete -c guard -n '__fish_seen_subcommand_from run' -l cpus -r -d "at most N processors"
complete -c guard -n '__fish_seen_subcommand_from run' -l tmp-size -r -d "a /tmp in memory of 64m, 1g"
complete -c guard -n '__fish_seen_subcommand_from run' -l user -r -d "be somebody else (root only)"
complete -c guard -n '__fish_seen_subcommand_from run' -l layer-size -r -d "end it when it wrote 500M, 20G"
complete -c guard -n '__fish_seen_subcommand_from run' -l layer-files -r -d "end it when it made N files"
complete -c guard -n '__fish_seen_subcommand_from run' -l continue -d "work on in a pending run's layer"
complete -c guard -n '__fish_seen_subcommand_from run' -s q -l quiet -d "say less"

complete -c guard -n '__fish_seen_subcommand_from status list' -s a -l all -d "runs of every project, also decided ones"
complete -c guard -n '__fish_seen_subcommand_from status list' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from status list' -l porcelain -d "one line a run, fields by TAB"
complete -c guard -n '__fish_seen_subcommand_from status list' -s q -l quiet -d "ids only"

complete -c guard -n '__fish_seen_subcommand_from diff' -l stat -d "changed lines a file, no text"
complete -c guard -n '__fish_seen_subcommand_from diff' -l name-status -d "letter and name only"
complete -c guard -n '__fish_seen_subcommand_from diff' -l name-only -d "names only"
complete -c guard -n '__fish_seen_subcommand_from diff' -s z -d "letter and raw name, each ended by NUL"
complete -c guard -n '__fish_seen_subcommand_from diff' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from diff' -l exit-code -d "end with 1 when there are changes"
complete -c guard -n '__fish_seen_subcommand_from diff' -l no-pager -d "do not start a pager"
complete -c guard -n '__fish_seen_subcommand_from diff' -l color -f -a 'auto always never' -d "colours: auto, always or never"
complete -c guard -n '__fish_seen_subcommand_from diff' -a '(guard status -q 2>/dev/null)' -d run

complete -c guard -n '__fish_seen_subcommand_from review' -l no-pager -d "do not start a pager"
complete -c guard -n '__fish_seen_subcommand_from review' -l color -f -a 'auto always never' -d "colours: auto, always or never"
complete -c guard -n '__fish_seen_subcommand_from review' -a '(guard status -q 2>/dev/null)' -d run
complete -c guard -n '__fish_seen_subcommand_from apply commit' -s p -l patch -d "ask about each hunk, as review does"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -l commit -d "one commit of it on HEAD's branch"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -l branch -x -d "commit it to that branch, and change nothing else"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -s m -l message -x -d "the commit's message"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -l continue -d "finish one that was interrupted"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -l abort -d "take back one that was interrupted"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -l ours -d "conflicts: your version stays"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -l theirs -d "conflicts: the run's version wins"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -l merge -d "conflicts: markers in texts, exit 1"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -s n -l dry-run -d "show what would be done, change nothing"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -s y -l yes -d "do not ask"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from apply commit' -a '(guard status -q 2>/dev/null)' -d run

complete -c guard -n '__fish_seen_subcommand_from discard' -s y -l yes -d "do not ask"
complete -c guard -n '__fish_seen_subcommand_from discard' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from discard' -a '(guard status -q 2>/dev/null)' -d run

complete -c guard -n '__fish_seen_subcommand_from import' -s n -l dry-run -d "show what would be done, change nothing"
complete -c guard -n '__fish_seen_subcommand_from import' -s y -l yes -d "do not ask"
complete -c guard -n '__fish_seen_subcommand_from import' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from import' -l json -d "print JSON"
complete -c guard -f -n '__fish_seen_subcommand_from import' -a '(guard status -q 2>/dev/null)' -d run

complete -c guard -n '__fish_seen_subcommand_from undo' -s n -l dry-run -d "show what would be done, change nothing"
complete -c guard -n '__fish_seen_subcommand_from undo' -s y -l yes -d "do not ask"
complete -c guard -n '__fish_seen_subcommand_from undo' -s q -l quiet -d "say less"

complete -c guard -n '__fish_seen_subcommand_from snapshot' -s m -l message -r -d "a note to find it by"
complete -c guard -n '__fish_seen_subcommand_from snapshot' -l tag -r -d "a word to keep with it; repeatable"
complete -c guard -n '__fish_seen_subcommand_from snapshot' -l exclude -r -d "leave out; repeatable, recorded"
complete -c guard -n '__fish_seen_subcommand_from snapshot' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from snapshot' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from snapshot' -l progress -r -f -a 'auto json' -d "auto (on a terminal) or json (lines on stderr)"

complete -c guard -n '__fish_seen_subcommand_from log' -s n -l number -r -d "at most N lines"
complete -c guard -n '__fish_seen_subcommand_from log' -l actions -d "what guard did: runs, applies, ..."
complete -c guard -n '__fish_seen_subcommand_from log' -s a -l all -d "of every project"
complete -c guard -n '__fish_seen_subcommand_from log' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from log' -l no-pager -d "do not start a pager"

complete -c guard -n '__fish_seen_subcommand_from ls' -s l -l long -d "mode, owner, size and time too"
complete -c guard -n '__fish_seen_subcommand_from ls' -s z -d "raw names, each ended by NUL"
complete -c guard -n '__fish_seen_subcommand_from ls' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from ls' -a '(__guard_snapshots)' -d snapshot

complete -c guard -n '__fish_seen_subcommand_from show' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from show' -l no-pager -d "do not start a pager"
complete -c guard -n '__fish_seen_subcommand_from show' -a '(__guard_snapshots)' -d snapshot

complete -c guard -n '__fish_seen_subcommand_from restore' -l at -r -f -a '(__guard_snapshots)' -d "12, latest~2, '2h ago', '2026-11-21 14:30'"
complete -c guard -n '__fish_seen_subcommand_from restore' -l to -r -d "put it into DIR instead"
complete -c guard -n '__fish_seen_subcommand_from restore' -l overwrite -r -f -a 'always if-changed never' -d "always, if-changed or never"
complete -c guard -n '__fish_seen_subcommand_from restore' -l exact -d "delete what the snapshot has not"
complete -c guard -n '__fish_seen_subcommand_from restore' -s n -l dry-run -d "show what would be done, change nothing"
complete -c guard -n '__fish_seen_subcommand_from restore' -s y -l yes -d "do not ask"
complete -c guard -n '__fish_seen_subcommand_from restore' -s q -l quiet -d "say less"

complete -c guard -n '__fish_seen_subcommand_from verify' -l read-data -d "read and check every byte"
complete -c guard -n '__fish_seen_subcommand_from verify' -l sample -r -f -d "read and check a share of the bytes"
complete -c guard -n '__fish_seen_subcommand_from verify' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from verify' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from verify' -l progress -r -f -a 'auto json' -d "auto (on a terminal) or json (lines on stderr)"

complete -c guard -n '__fish_seen_subcommand_from prune' -s n -l dry-run -d "show what would go"
complete -c guard -n '__fish_seen_subcommand_from prune' -l keep-last -r -f -d "the newest N"
complete -c guard -n '__fish_seen_subcommand_from prune' -l keep-within -r -f -d "all of 12h, 14d, 8w"
complete -c guard -n '__fish_seen_subcommand_from prune' -l keep-hourly -r -f -d "the last of N hours"
complete -c guard -n '__fish_seen_subcommand_from prune' -l keep-daily -r -f -d "the last of N days"
complete -c guard -n '__fish_seen_subcommand_from prune' -l keep-weekly -r -f -d "the last of N weeks"
complete -c guard -n '__fish_seen_subcommand_from prune' -l keep-monthly -r -f -d "the last of N months"
complete -c guard -n '__fish_seen_subcommand_from prune' -l keep-yearly -r -d "the last of N years"
complete -c guard -n '__fish_seen_subcommand_from prune' -l keep-tag -r -d "all with that tag; repeatable"
complete -c guard -n '__fish_seen_subcommand_from prune' -l max-size -r -f -d "the newest that fit in 500M, 20G"
complete -c guard -n '__fish_seen_subcommand_from prune' -s y -l yes -d "do not ask"
complete -c guard -n '__fish_seen_subcommand_from prune' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from prune' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from prune' -l progress -r -f -a 'auto json' -d "auto (on a terminal) or json (lines on stderr)"

complete -c guard -n '__fish_seen_subcommand_from undelete' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from undelete' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from undelete' -f -a '(guard undelete -q 2>/dev/null | string match -r "^[0-9]+")' -d snapshot

complete -c guard -n '__fish_seen_subcommand_from du' -l json -d "print JSON"

complete -c guard -n '__fish_seen_subcommand_from repair' -s y -l yes -d "do not ask"
complete -c guard -n '__fish_seen_subcommand_from repair' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from repair' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from repair' -l progress -r -f -a 'auto json' -d "auto (on a terminal) or json (lines on stderr)"

complete -c guard -n '__fish_seen_subcommand_from patch' -a '(guard status -q 2>/dev/null)' -d run
complete -c guard -n '__fish_seen_subcommand_from find' -l at -r -f -a '(__guard_snapshots)' -d "in one snapshot: 12, latest~2, '2h ago'"
complete -c guard -n '__fish_seen_subcommand_from find' -l all-versions -d "in every snapshot (the default)"
complete -c guard -n '__fish_seen_subcommand_from find' -s a -l all -d "of every project"
complete -c guard -n '__fish_seen_subcommand_from find' -s i -l ignore-case -d "upper and lower case are the same"
complete -c guard -n '__fish_seen_subcommand_from find' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from find' -l progress -r -f -a 'auto json' -d "auto (on a terminal) or json (lines on stderr)"
complete -c guard -n '__fish_seen_subcommand_from grep' -l at -r -f -a '(__guard_snapshots)' -d "in one snapshot: 12, latest~2, '2h ago'"
complete -c guard -n '__fish_seen_subcommand_from grep' -l all-versions -d "in every snapshot (the default)"
complete -c guard -n '__fish_seen_subcommand_from grep' -s a -l all -d "of every project"
complete -c guard -n '__fish_seen_subcommand_from grep' -s i -l ignore-case -d "upper and lower case are the same"
complete -c guard -n '__fish_seen_subcommand_from grep' -s F -l fixed-strings -d "RE is plain text"
complete -c guard -n '__fish_seen_subcommand_from grep' -s l -l files-with-matches -d "names only"
complete -c guard -n '__fish_seen_subcommand_from grep' -s n -l line-number -d "lines with their numbers"
complete -c guard -n '__fish_seen_subcommand_from grep' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from grep' -l progress -r -f -a 'auto json' -d "auto (on a terminal) or json (lines on stderr)"
complete -c guard -n '__fish_seen_subcommand_from grep' -l no-pager -d "do not start a pager"
complete -c guard -n '__fish_seen_subcommand_from grep' -l color -f -a 'auto always never' -d "colours: auto, always or never"
complete -c guard -n '__fish_seen_subcommand_from pin unpin' -f -a '(__guard_snapshots)' -d snapshot
complete -c guard -n '__fish_seen_subcommand_from pin' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from pin' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from unpin' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from purge' -l confirm -r -d "the same path again: do not ask"
complete -c guard -n '__fish_seen_subcommand_from purge' -s n -l dry-run -d "show what would be done, change nothing"
complete -c guard -n '__fish_seen_subcommand_from purge' -s q -l quiet -d "say less"
complete -c guard -n '__fish_seen_subcommand_from purge' -l json -d "print JSON"
complete -c guard -n '__fish_seen_subcommand_from purge' -l progress -r -f -a 'auto json' -d "auto (on a terminal) or json (lines on stderr)"
